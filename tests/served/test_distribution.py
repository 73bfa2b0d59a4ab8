"""A curated distribution, served: what its user tries does not loosen it, by whatever way it is tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from doorward_testing import Commands

from .conftest import LIMITS, SHELF
from .product import Agent, Api, Project, apart, connected

pytestmark = pytest.mark.anyio

MANIFEST = """
lock = ["http", "hooks.ast"]
allow-extra = [{plugins}]
[defaults.http]
port = 0
[locked]
executor = ["monty"]
[locked.limits]
timeout = 20
[required]
plugins = ["audit_jsonl"]
[policy]
deny = ["{url}#delete_item", "{url}#GET /items/4", "https://forbidden.example.com"]
[branding]
name = "acme"
title = "Acme\u202e Gateway"
instructions = "Ask the platform team for access."
"""
PLUGINS = [
    *("openapi", "mcp-upstream", "mcp-server", "sandbox-monty", "guard-ast", "audit-jsonl", "cache-sqlite"),
    *("approvals", "durable-runs", "search"),
]


@pytest.fixture(scope="module")
def site(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed distribution."""
    site = tmp_path_factory.mktemp("site")
    plugins = ", ".join(f'"doorward-{name}"' for name in PLUGINS)
    install(site, "acme", MANIFEST.format(url=api.url, plugins=plugins))
    return site


def install(site: Path, name: str, manifest: str) -> None:
    info, package = site / f"{name}_distro-1.2.dist-info", site / f"{name}_distro"
    info.mkdir(parents=True)
    package.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-distro\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[doorward.distro]\n{name} = {name}_distro\n")
    (package / "__init__.py").touch()
    (package / "distro.toml").write_text(manifest)


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """The commands of Doorward."""
    with Commands() as commands:
        yield commands


class Mine(Project):
    """A user's project under a distribution, whose commands start no Python of their own."""

    def __init__(self, folder: Path, config: str, site: Path, commands: Commands) -> None:
        self.commands = commands
        super().__init__(folder, config, {"PYTHONPATH": str(site)})

    def run(self, *words: str, timeout: float = 100) -> subprocess.CompletedProcess[str]:
        places = self.env["PYTHONPATH"].split(os.pathsep)
        return self.commands.run([*words, "--config", str(self.file)], self.environment(), self.folder, places)


@pytest.fixture
def mine(site: Path, api: Api, tmp_path: Path, commands: Commands) -> Mine:
    """A project with the server `shelf`."""
    return Mine(tmp_path, LIMITS + SHELF.format(url=api.url), site, commands)


async def test_the_policy_holds_whatever_the_server_is_called(mine: Mine, api: Api) -> None:
    """What may not be called of an upstream may not be called under another name, nor by a policy of the user's own;
    an upstream that is forbidden as a whole is not even compiled."""
    mine.change(last=SHELF.replace("[servers.shelf]", "[servers.up2]").format(url=api.url))
    mine.change(
        last='\n[policy]\nallow = ["*"]\n[servers.far]\nsource = "mcp"\nurl = "https://forbidden.example.com/mcp"\n'
    )
    async with mine.stdio() as agent:
        for name in ("shelf", "up2"):
            assert await agent.value(f"import {name}\nresult = {name}.get_item(id=1)['id']") == 1
            answer = await agent.run(f"import doorward\ndoorward.call('{name}.delete_item', {{'id': 1}})")
            assert answer["error"]["message"] == (
                f"{name}.delete_item is not allowed by the policy of acme-distro 1.2: [policy] deny"
            )
        servers = {each["name"]: each for each in (await agent.call("list_servers"))["servers"]}
        assert "its upstream is not allowed by the policy of acme-distro 1.2" in servers["far"]["broken"]


MOVED = """
[servers.{name}]
source = "openapi"
spec = "{name}.json"
base_url = "{url}{base}"
"""
ROUTES = [
    ("", "/{a}/{b}", "a='items', b='4'"),
    ("/items", "/{b}", "b='4'"),
    ("/ITEMS/..", "/{a}/4", "a='items'"),
    ("", "/items/%34", ""),
    ("", "/{a}", "a='items/4'"),
]


@pytest.fixture(scope="module")
async def moved(
    anyio_backend: str, site: Path, api: Api, commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agent]:
    """A client of a project with a server for each of these routes."""
    project = Mine(tmp_path_factory.mktemp("moved"), LIMITS, site, commands)
    for number, (base, path, _) in enumerate(ROUTES):
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "x-ms-skip-url-encoding": True}
            for name in "ab"
            if f"{{{name}}}" in path
        ]
        operation = {"operationId": "innocent", "parameters": parameters, "responses": {"200": {"description": "x"}}}
        info = {"title": "Moved", "version": "1"}
        (project.folder / f"moved{number}.json").write_text(
            json.dumps({"openapi": "3.1.0", "info": info, "paths": {path: {"get": operation}}})
        )
        project.change(last=MOVED.format(name=f"moved{number}", url=api.url, base=base))
    async with apart(project.stdio()) as agent:
        yield agent


@pytest.mark.parametrize("number", range(len(ROUTES)), ids=[f"{base}{path}" for base, path, _ in ROUTES])
async def test_a_document_of_the_user_opens_no_route(moved: Agent, number: int) -> None:
    """A route that is denied of an upstream is denied under another template, below another base URL, and encoded."""
    answer = await moved.run(f"import moved{number}\nresult = moved{number}.innocent({ROUTES[number][2]})")
    assert answer["error"]["kind"] == "policy", answer
    assert "is not allowed by the policy of acme-distro 1.2: [policy] deny" in answer["error"]["message"]


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_clients_see_the_product(mine: Mine, era: str) -> None:
    """Name, title and instructions are the distribution's, cleaned; Doorward's own instructions follow."""
    async with mine.stdio(era) as agent:
        info = agent.client.server_info
        assert (info.name, info.title) == ("acme", "Acme Gateway")
        told = agent.client.instructions or ""
        assert told.startswith("Ask the platform team for access.\n\n")
        assert "execute_code" in told


async def test_it_serves_http_where_the_distribution_says(mine: Mine) -> None:
    """Options stop at locks like the file and the environment do: the same value is no change."""
    for words in (("--host", "0.0.0.0"), ("--port", "1"), ("--host", "127.0.0.2", "--port", "0")):
        refused = mine.run("serve", "--transport", "http", *words)
        assert refused.returncode == 2
        assert "may not be set: acme-distro 1.2 locks [http]" in refused.stderr
        assert "hint: Leave out the option." in refused.stderr
    with mine.http("--host", "127.0.0.1") as (url, _):
        async with connected(url) as agent:
            assert await agent.value("1 + 1") == 2


@pytest.mark.parametrize(
    ("file", "env", "message"),
    [
        ("[hooks.ast]\nforbid_imports = []\n", {}, "hooks.ast.forbid_imports = [] may not be set"),
        ("[hooks.audit_jsonl]\npath = '/dev/null'\n", {}, "hooks.audit_jsonl.path = '/dev/null' may not be set"),
        ("", {"DOORWARD_HOOKS__AUDIT_JSONL__PATH": "/dev/null"}, "hooks.audit_jsonl.path = '/dev/null' may not be set"),
        (
            "",
            {"DOORWARD_LIMITS__TIMEOUT": "60"},
            "limits.timeout = '60' may not be changed: acme-distro 1.2 locks it to 20",
        ),
        ("", {"DOORWARD_DISTRO": "other"}, "the installed distribution is 'acme' of acme-distro 1.2"),
    ],
)
def test_what_would_loosen_it_stops_the_start(mine: Mine, file: str, env: dict[str, str], message: str) -> None:
    """The file, `.env` and the environment are refused by the same words, by every command."""
    mine.change(last=f"\n{file}")
    (mine.folder / ".env").write_text(
        "".join(f"{key}={value}\n" for key, value in env.items() if key != "DOORWARD_DISTRO")
    )
    mine.env.update({key: value for key, value in env.items() if key == "DOORWARD_DISTRO"})
    for words in (("serve",), ("list",), ("call", "shelf.get_item", "id=1"), ("doctor",)):
        ran = mine.run(*words)
        assert ran.returncode in (1, 2), ran.stdout
        assert message in ran.stderr + ran.stdout


def test_a_second_distribution_turns_nothing_off(mine: Mine, tmp_path: Path) -> None:
    """A folder on the path with a distribution that locks nothing stops the start, whatever DOORWARD_DISTRO says."""
    install(tmp_path / "evil", "loose", "")
    mine.env["PYTHONPATH"] = f"{tmp_path / 'evil'}:{mine.env['PYTHONPATH']}"
    for choice in ({}, {"DOORWARD_DISTRO": "loose"}):
        mine.env.update(choice)
        ran = mine.run("list")
        assert ran.returncode == 2
        assert "several distributions are installed: acme of acme-distro 1.2, loose of loose-distro 1.2" in ran.stderr
        assert "Uninstall all but one." in ran.stderr


def test_the_command_line_tells_of_it(mine: Mine) -> None:
    """`--version`, `list`, `doctor` and `plugins` say which distribution is active, what it locks and refuses."""
    assert mine.run("list").stderr == "Acme Gateway (acme-distro 1.2)\n"
    doctor = mine.run("doctor").stdout
    assert (
        "distribution Acme Gateway (acme-distro 1.2): locks [http], [hooks.ast], [executors.monty], [hooks.audit_jsonl], executor, limits.timeout"
        in doctor
    )
    assert "plugin\tcmd\tdoorward-secrets\t" in mine.run("plugins").stdout
    refused = "refused: not allowed by acme-distro 1.2, which does not name doorward-secrets"
    assert refused in mine.run("plugins").stdout
    mine.change('plugins = ["ast", "audit_jsonl"]', 'plugins = ["cmd"]')
    ran = mine.run("list")
    assert "plugin 'cmd' of doorward-secrets" in ran.stderr
    assert "is not allowed by acme-distro 1.2, which does not name doorward-secrets" in ran.stderr


def test_a_new_configuration_fits_it(mine: Mine) -> None:
    """`init` writes nothing that is locked; `add` and `token` leave the file as it was if they may not write it."""
    mine.file = mine.folder / "new.toml"
    assert mine.run("init").returncode == 0
    assert "# executor: acme-distro 1.2 locks it" in mine.file.read_text()
    assert mine.run("list").returncode == 0
    before = mine.file.read_text() + "[servers]\n"
    mine.file.write_text(before)
    mine.env["DOORWARD_HTTP__PORT"] = "1"
    for words in (("add", "openapi", "x", "https://api.example.com/x.json"), ("token", "new", "alice")):
        ran = mine.run(*words)
        assert (ran.returncode, mine.file.read_text()) == (2, before)
        assert "http.port = '1' may not be set" in ran.stderr


def test_help_does_not_read_the_whole_of_it(mine: Mine) -> None:
    """`--help` and `--version` have no time for the models of the configuration."""
    for word in ("--help", "--version"):
        command = [sys.executable, "-X", "importtime", "-m", "doorward", word]
        ran = subprocess.run(command, env=mine.environment(), cwd=mine.folder, capture_output=True, text=True)
        assert ran.returncode == 0
        assert "pydantic" not in ran.stderr


def test_it_starts_from_a_place_that_no_variable_changes(mine: Mine) -> None:
    """`python -I -m doorward` sees neither PYTHONPATH nor the current folder."""
    (mine.folder / "doorward.py").write_text("raise SystemExit('shadowed')")
    for way, seen in ((["-m", "doorward"], "shadowed"), (["-I", "-m", "doorward"], "doorward ")):
        ran = subprocess.run(
            [sys.executable, *way, "--version"], env=mine.environment(), cwd=mine.folder, capture_output=True, text=True
        )
        assert (ran.stdout + ran.stderr).startswith(seen)
