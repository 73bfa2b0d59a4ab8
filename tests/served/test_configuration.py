"""What is wrong in a configuration is one clear message with the place, and the other servers still serve."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doorward_testing import reserve_port

from .forked import Forked, project
from .product import Api, Project, until

__all__ = ["project"]

pytestmark = pytest.mark.anyio

GOOD = '[servers.shelf]\nsource = "openapi"\nspec = "{url}/openapi.json"\n'
NOBODY = f"http://127.0.0.1:{reserve_port()}"
WRONG = {
    "unknown_key": (
        'source = "openapi"\nspec = "{url}/openapi.json"\nbase_ulr = "x"',
        ["unknown key 'base_ulr'", "did you mean 'base_url'"],
    ),
    "unknown_core_key": (
        'source = "openapi"\nspec = "{url}/openapi.json"\nread_olny = true',
        ["read_olny", "read_only"],
    ),
    "missing_variable": (
        'source = "openapi"\nspec = "${{NO_SUCH_VARIABLE}}/x.json"',
        ["spec", "${NO_SUCH_VARIABLE} has no value"],
    ),
    "missing_plugin": ('source = "soap"\nspec = "x"', ["soap", "pip install"]),
    "missing_auth": (
        'source = "openapi"\nspec = "{url}/openapi.json"\nauth = {{ type = "magic" }}',
        ["magic", "pip install"],
    ),
    "wrong_auth": (
        'source = "openapi"\nspec = "{url}/openapi.json"\nauth = {{ type = "jwt", tokn = "x" }}',
        ["tokn", "token"],
    ),
    "no_auth_type": (
        'source = "openapi"\nspec = "{url}/openapi.json"\nauth = {{ token = "x" }}',
        ["auth: has no type"],
    ),
    "unreachable": (
        f'source = "openapi"\nspec = "{NOBODY}/openapi.json"',
        [NOBODY, "cannot be reached"],
    ),
    "not_found": ('source = "openapi"\nspec = "{url}/nope.json"', ["{url}/nope.json", "404"]),
    "no_file": ('source = "openapi"\nspec = "nope.yaml"', ["nope.yaml"]),
    "broken_spec": ('source = "openapi"\nspec = "broken.json"', ["broken.json"]),
    "no_spec": ('source = "openapi"\nspec = "other.json"', ["other.json"]),
    "no_source": ('spec = "x"', ["source", "required"]),
    "import": ('source = "openapi"\nspec = "{url}/openapi.json"', ["'import' cannot name a server"]),
}
TWICE = GOOD.replace("shelf", "twice")
TWINS = GOOD.replace("shelf", "my-api") + GOOD.replace("shelf", "my_api")


@pytest.fixture(scope="module")
def wrong(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Everything that can be wrong with a server, at once, and two good servers."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "broken.json").write_text('{"openapi": "3.0.0", "paths": {')
    (folder / "other.json").write_text('{"hello": "world"}')
    servers = "".join(f"[servers.{name}]\n{text}\n" for name, (text, _) in WRONG.items())
    return Forked(folder, (GOOD + servers + TWICE + TWICE + TWINS).format(url=api.url))


async def test_variables_are_the_configuration(api: Api, tmp_path: Path) -> None:
    """`DOORWARD_*` make a server, bound a run and move the state folder, over what the file says; the environment is
    stronger than `.env`. CONTRACT: CLI-11, AUT-11, SRC-04."""
    variables = {
        "DOORWARD_SERVERS__SHELF__SOURCE": "openapi",
        "DOORWARD_SERVERS__SHELF__SPEC": f"{api.url}/openapi.json",
        "DOORWARD_SERVERS__SHELF__INCLUDE": '["getItem", "echo"]',
        "DOORWARD_SERVERS__SHELF__BASE_URL": api.other,
        "DOORWARD_SERVERS__SHELF__AUTH": '{"type": "api_key", "name": "X-Api-Key", "value": "${KEY}"}',
        "DOORWARD_LIMITS__MAX_TIMEOUT": "40",
        "DOORWARD_STATE_DIR": str(tmp_path / "elsewhere"),
        "KEY": "key-of-the-environment",
    }
    project = Forked(tmp_path, "[limits]\nmax_timeout = 50\n", variables)
    (tmp_path / ".env").write_text("DOORWARD_LIMITS__MAX_TIMEOUT=60\nDOORWARD_LIMITS__CODE=100\n")
    async with project.stdio() as agent:
        (server,) = (await agent.call("list_servers"))["servers"]
        assert (server["name"], server["functions"]) == ("shelf", 2)
        assert "at most 40 s" in (await agent.run("1", timeout=41))["error"]["message"]
        assert "101 bytes, more than 100" in (await agent.run("#" * 101))["error"]["message"]
        before = len(api.seen())
        await agent.value("import shelf\nresult = shelf.echo(form='plain', place='body')")
    seen = [(one["origin"], "key-of-the-environment" in one["credentials"]) for one in api.seen()[before:]]
    assert seen == [(1, True)], "at the other address"
    assert (tmp_path / "elsewhere/catalog.db").is_file()
    assert not project.state.exists()


def test_the_audit_log_is_on_by_default(project: Project) -> None:
    """With no word of plugins in the configuration, each run and call has its line. CONTRACT: OBS-02."""
    project.change('plugins = ["ast", "audit_jsonl"]\n')
    assert project.run("call", "shelf.get_item", "id=1").returncode == 0
    (call,) = [line for line in project.audit() if line["event"] == "call_finished"]
    assert call["function"] == "shelf.get_item"
    assert call["time"]


async def test_what_is_broken_is_listed_and_the_rest_serves(api: Api, wrong: Project) -> None:
    """Each broken server is listed with one message that names the place, to programs too; the good one works.
    CONTRACT: OBS-03, DIS-01, DIS-09, DIS-10, OUT-05."""
    async with wrong.stdio() as agent:
        listed = {
            server["name"]: server for server in (await agent.call("list_servers"))["servers"] if "broken" in server
        }
        assert await agent.value("import shelf\nresult = shelf.get_item(id=3)['id']") == 3
        assert await agent.value("import my_api\nresult = my_api.get_item(id=3)['id']") == 3
        used = (await agent.run("import broken_spec"))["error"]
        names = "import doorward\nfrom mcp import runtime\n[[s['name'] for s in doorward.servers()], runtime.list_servers_sync()]"
        assert all({*listed} <= {*told} for told in await agent.value(names))
        assert "Traceback" not in wrong.said()
    for name, (_, said) in WRONG.items():
        message = listed[name]["broken"]
        assert all(part.replace("{url}", api.url) in message for part in said), message
        assert "\n" not in message
    assert "[servers.twice] is given twice" in listed["twice"]["broken"]
    assert "in line" in listed["twice"]["broken"]
    assert "server 'my-api'" in listed["my_api"]["broken"]
    assert "broken_spec" in used["message"]


def test_compile_tells_the_same(api: Api, wrong: Project) -> None:
    """`doorward compile --json` has an error for each broken server and the functions of the others; exit code 1.
    CONTRACT: OBS-03."""
    ran = wrong.run("compile", "--json")
    assert (ran.returncode, ran.stderr.count("Traceback")) == (1, 0)
    servers = json.loads(ran.stdout)["servers"]
    assert servers["shelf"]["functions"] == 12
    for name, (_, said) in WRONG.items():
        text = json.dumps(servers[name], ensure_ascii=False)
        assert all(part.replace("{url}", api.url) in text for part in said), text
    assert "[servers.twice] is given twice" in servers["twice"]["error"]
    for name in ("unknown_key", "missing_variable", "no_source", "import"):
        assert servers[name]["error"].startswith(f"doorward.toml [servers.{name}]")


async def test_credentials_that_cannot_be_used_stop_the_server(api: Api, wrong: Project) -> None:
    """An auth that is not installed or wrongly configured makes no call without credentials: it fails closed, with the
    place.
    CONTRACT: AUT-01."""
    before = len(api.seen())
    async with wrong.stdio() as agent:
        for name in ("missing_auth", "wrong_auth", "no_auth_type"):
            listed = {server["name"]: server for server in (await agent.call("list_servers"))["servers"]}
            assert all(part in listed[name]["broken"] for part in WRONG[name][1])
            assert not (await agent.run(f"import {name}\n{name}.get_item(id=1)"))["ok"]
    assert not [one for one in api.seen()[before:] if one["path"] == "/items/1"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("surfce = 'minimal'\n", ["doorward.toml", "unknown key 'surfce'", "surface"]),
        ("[limits]\ntimeout = 'long'\n", ["doorward.toml", "limits.timeout"]),
        ("[limits]\ncals = 1\n", ["unknown key", "cals", "calls"]),
        ("this is no TOML", ["doorward.toml", "line"]),
        ("[hooks.ast]\nrefus = []\n", ["[hooks.ast]", "refus", "refuse"]),
        ("[executors.mnty]\npool = 1\n", ["[executors.mnty]", "did you mean 'monty'"]),
        ("plugins = ['nope']\n", ["nope", "pip install"]),
        ("log_level = '${NO_SUCH}'\n", ["log_level", "${NO_SUCH} has no value"]),
    ],
)
def test_what_is_wrong_outside_the_servers_stops_the_start(tmp_path: Path, config: str, said: list[str]) -> None:
    """One message with the place and what to do, exit code 2, no traceback; a guard that cannot be had stops the
    start."""
    project = Forked(tmp_path, "")
    text = project.file.read_text()
    project.file.write_text(config + (text.replace("plugins", "#") if config.startswith("plugins") else text))
    for words in (["serve"], ["compile", "--json"]):
        ran = project.run(*words)
        told = ran.stdout + ran.stderr
        assert ran.returncode == 2, told
        assert all(part in told for part in said), told
        assert "Traceback" not in told
        assert len(told.strip().splitlines()) <= 3


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    """No configuration, and an `--env-file` that is not there. CONTRACT: CLI-06."""
    project = Forked(tmp_path, "")
    assert "Check --env-file" in project.run("serve", "--env-file", "nope").stderr
    project.file.unlink()
    ran = project.run("serve")
    assert ran.returncode == 2
    assert "doorward init" in ran.stderr


async def test_an_executor_that_is_missing_is_said(project: Project) -> None:
    """`list_servers` and a run say which executor is missing and what to install; nothing runs unisolated."""
    project.change('executor = "monty"', 'executor = ["gvisor"]')
    async with project.stdio() as agent:
        assert "pip install" in (await agent.call("list_servers"))["executors"][0]["broken"]
        error = (await agent.run("1"))["error"]
        assert "gvisor" in error["message"] + error["hint"]
        assert error["kind"] == "executor"


async def test_a_document_that_is_gone_goes_on_with_the_last_compile(tmp_path: Path) -> None:
    """If the API is down at the next start, its functions are still there, and serve says so in its log. CONTRACT:
    SRC-12, SRC-13."""
    with Api() as api:
        project = Forked(tmp_path, GOOD.format(url=api.url))
        assert project.run("compile").returncode == 0
        api.kill()
        async with project.stdio() as agent:
            assert (await agent.call("list_servers"))["servers"][0]["functions"] == 12
            assert "cannot be reached" in (await agent.run("import shelf\nshelf.get_item(id=1)"))["error"]["message"]
            assert until(lambda: "compile_failed" in project.said()), (
                "the download is tried a few times before it has failed"
            )
            api.start()
            assert (await agent.value("import shelf\nresult = shelf.get_item(id=1)"))["id"] == 1


@pytest.mark.parametrize(
    ("env", "levels"),
    [
        ({}, {"warning"}),
        ({"DOORWARD_LOG_LEVEL": "error"}, set()),
        ({"DOORWARD_LOG_LEVEL": "info"}, {"warning", "info"}),
        ({"DOORWARD_DEBUG": "1"}, {"warning", "debug"}),
    ],
)
async def test_the_log_says_as_much_as_it_is_asked_for(project: Project, env: dict[str, str], levels: set[str]) -> None:
    """By `log_level`, or all by DOORWARD_DEBUG=1, with a line for each run and call from `info` on; each is JSON with its
    time. CONTRACT: OBS-01."""
    project.env.update(env)
    project.change(last='[servers.bad]\nsource = "soap"\n')
    async with project.stdio() as agent:
        await agent.value("import shelf\nshelf.get_item(id=1)['id']")
    lines = [json.loads(line) for line in project.said().splitlines()]
    assert {line["level"] for line in lines} == levels
    assert ({"run", "call"} <= {line["event"] for line in lines}) == ("info" in levels)
    assert all(line["timestamp"] and line["event"] for line in lines)
