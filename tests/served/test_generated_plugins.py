"""What `doorward plugin new` writes, as a stranger has it: built as a wheel, installed beside ours, its tests run as they
were generated, and used in a served gateway."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from doorward_testing.authoring.kinds import kinds

from .environment import ROOT, Environment, wheels
from .product import Agent, Answering, Project, web

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]  # many wheels are built first

NAMESPACES = ["unshare", "-Urmpfniu", "true"]
"""Works where the generated executor does."""

FOLDERS = [
    "core",
    *(str(folder.relative_to(ROOT)) for where in ("libs", "plugins") for folder in (ROOT / where).iterdir()),
]
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "People", "version": "1"},
    "paths": {
        "/people": {
            "get": {"operationId": "list_people", "responses": {"200": {"description": "x"}}},
            "post": {"operationId": "add_person", "responses": {"200": {"description": "x"}}},
        },
        "/old": {"get": {"operationId": "old", "deprecated": True, "responses": {"200": {"description": "x"}}}},
    },
}


class People(Answering):
    """An API that keeps the headers of the requests that it got, and what was posted to /events."""

    seen: list[dict[str, str]] = []  # noqa: RUF012
    events: list[dict[str, Any]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        if self.path == "/openapi.json":
            self.answer(DOCUMENT)
            return
        self.seen.append(dict(self.headers))
        self.answer([{"name": "Ann", "mail": "ann@example.com"}])

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/events":
            self.events.extend(json.loads(content))
        self.answer({})


@pytest.fixture(scope="module")
def people() -> Iterator[str]:
    with web(People) as url:
        yield url


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """The environment for a kind, with the wheels of this repository: all share one, but a distribution, which would be
    the active one for all."""
    folders = [folder for folder in FOLDERS if (ROOT / folder / "pyproject.toml").is_file()]
    ours = wheels(folders, tmp_path_factory.mktemp("wheels"))

    @cache
    def made(is_distribution: bool) -> Environment:
        environment = Environment(tmp_path_factory.mktemp("environment") / "venv")
        for wheel in ours.glob("*.whl"):
            environment.install(wheel)
        return environment

    return lambda kind: made(kind == "distribution")


class Plugin:
    """A generated plugin, installed from its wheel."""

    def __init__(self, kind: str, folder: Path, environment: Environment) -> None:
        self.kind, self.name, self.folder = kind, f"my_{kind}", folder / "generated"
        self.environment = environment
        about = self.run("plugin", "new", kind, self.name, "--folder", str(self.folder), "--json", cwd=folder)
        self.distribution = json.loads(about.stdout)["distribution"]
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
        subprocess.run(build, cwd=self.folder, check=True, capture_output=True)
        (wheel,) = (folder / "dist").glob("*.whl")
        self.environment.install(wheel)

    def command(self, *words: str) -> list[str]:
        return [str(self.environment.python), "-m", *words]

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """A command of the command line that succeeds."""
        return self._run("doorward.cli", *words, cwd=cwd)

    def tested(self, folder: Path) -> str:
        """The last line of pytest, for the tests as they were generated, with nothing else of the package there."""
        shutil.copytree(self.folder / "tests", folder / "tests")
        return self._run("pytest", "-q", "--import-mode=importlib", "tests", cwd=folder).stdout.splitlines()[-1]

    def _run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOORWARD_", "PYTEST_", "PYTHON"))}
        ended = subprocess.run(self.command(*words), cwd=cwd, env=kept, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended


class Served(Project):
    """A project whose Doorward has the plugin."""

    def __init__(self, folder: Path, plugin: Plugin, config: str, env: dict[str, str] | None = None) -> None:
        self.plugin = plugin
        super().__init__(folder, config, env)

    def configure(self, config: str) -> None:
        self.file.write_text(f'state = "state"\n{config}')

    def command(self, *words: str) -> list[str]:
        return [*self.plugin.command("doorward.cli"), *words, "--config", str(self.file)]


@pytest.fixture(scope="module", params=sorted(kinds()))
def plugin(
    request: Any, tmp_path_factory: pytest.TempPathFactory, environments: Callable[[str], Environment]
) -> Plugin:
    if request.param == "executor" and (not shutil.which("unshare") or subprocess.run(NAMESPACES).returncode):
        pytest.skip("namespaces are not allowed here, or there is no unshare(1)")
    return Plugin(request.param, tmp_path_factory.mktemp(request.param), environments(request.param))


async def test_its_tests_pass(plugin: Plugin, tmp_path: Path) -> None:
    """As they were generated, against what is installed."""
    last = plugin.tested(tmp_path)
    assert "passed" in last
    assert "failed" not in last


async def test_it_is_as_it_should_be(plugin: Plugin, tmp_path: Path) -> None:
    """`doorward plugin check` finds nothing to do: installed, and in the folder of its source."""
    for target in (plugin.distribution, str(plugin.folder)):
        told = json.loads(plugin.run("plugin", "check", "--no-tests", target, "--json", cwd=tmp_path).stdout)
        to_do = [line["says"] for line in told["checks"] if line["status"] != "ok"]
        both = "is installed here, too: that copy is checked, and not the folder"  # two distributions are refused
        assert to_do == ([both] if plugin.kind == "distribution" and target == str(plugin.folder) else []), told


async def test_it_works_in_a_served_gateway(plugin: Plugin, people: str, tmp_path: Path) -> None:
    """A client of `doorward serve` meets what it does."""
    People.seen.clear()
    People.events.clear()
    config, env = CONFIGS[plugin.kind].format(name=plugin.name, url=people, folder=tmp_path), {"KEY": "correct-horse"}
    served = Served(tmp_path / "project", plugin, config, env)
    (served.folder / "netrc").write_text("machine people login me password hunter2-hunter2\n")
    (served.folder / "notes").mkdir()
    (served.folder / "notes/monday.md").write_text("milk")
    async with served.stdio() as agent:
        await USES[plugin.kind](agent, served)
    match plugin.kind:  # what is there when it is over
        case "exporter":
            told = [event["event"] for event in People.events]
            assert told[-3:] == ["RunStarted", "CallFinished", "RunFinished"], told
            assert "ann@example.com" not in str(People.events)
        case "observer":
            counted = json.loads((served.state / f"{plugin.name}.json").read_text())
            assert counted == {"runs": {"succeeded": 1}, "calls": {"people.list_people": 1}}


PEOPLE = '[servers.people]\nsource = "openapi"\nspec = "{url}/openapi.json"\nbase_url = "{url}"\n'
PLAIN = 'executor = "monty"\ncache = "none"\nplugins = []\n'
HOOK = 'executor = "monty"\ncache = "none"\nplugins = ["{name}"]\n'
CONFIGS = {
    "auth": PLAIN + PEOPLE + 'auth = {{ type = "{name}", key = "${{KEY}}" }}\n',
    "cache": 'executor = "monty"\ncache = "{name}"\nplugins = []\n',
    "command": PLAIN + PEOPLE,
    "distribution": PEOPLE,
    "executor": 'executor = "{name}"\ncache = "none"\nplugins = []\n' + PEOPLE,
    "exporter": PLAIN + 'observer = ["{name}"]\n[observers.{name}]\nurl = "{url}/events"\n' + PEOPLE,
    "guard": HOOK + '[hooks.{name}]\nbegins = "00:00"\nends = "00:00"\n' + PEOPLE,
    "hooks": HOOK + PEOPLE,
    "mcp": HOOK,
    "observer": HOOK + PEOPLE,
    "secrets": HOOK
    + '[hooks.{name}]\npath = "{folder}/project/netrc"\n'
    + PEOPLE
    + 'auth = {{ type = "bearer", token = "${{{name}:people}}" }}\n',
    "view": PLAIN + 'search_view = ["{name}"]\n' + PEOPLE,
    "source": PLAIN + '[servers.diary]\nsource = "{name}"\npath = "notes"\n',
}
LIST = "import people\npeople.list_people()"
ANN = {"name": "Ann", "mail": "ann@example.com"}


async def use_auth(agent: Agent, served: Project) -> None:
    """The API sees a signature; a program does not see the key."""
    assert await agent.value(LIST) == [ANN]
    assert len(People.seen[-1]["X-Signature"]) == 64
    assert "correct-horse" not in str(agent.received)


async def use_cache(agent: Agent, served: Project) -> None:
    """A program is run again by its id."""
    first = await agent.run("x = 1\nx + 1")
    again = await agent.call("run_cached_code", cache_id=first["cache_id"], params={"x": 2})
    assert again["value"] == 3


async def use_command(agent: Agent, served: Any) -> None:
    """The command works beside the server."""
    assert await agent.value(LIST) == [ANN]
    ended = served.run(served.plugin.name, "--json")
    assert json.loads(ended.stdout) == {"servers": [{"server": "people", "reads": 2, "changes": 1}]}, ended.stderr


async def use_distribution(agent: Agent, served: Any) -> None:
    """What it pins serves; the audit log is there though nobody asked for it, and another address is refused."""
    assert await agent.value(LIST) == [ANN]
    assert "run_finished" in {line["event"] for line in served.audit()}
    served.change(last='[http]\nhost = "0.0.0.0"\n')
    ended = served.run("list")
    assert (ended.returncode, served.plugin.distribution in ended.stderr) == (2, True), ended.stderr


async def use_executor(agent: Agent, served: Any) -> None:
    """A program of full Python runs, and reaches no network."""
    answer = await agent.run(f"import statistics\n{LIST}\nstatistics.mean([1, 3])")
    assert (answer["value"], answer["executor"]) == (2, served.plugin.name)
    code = "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)"
    assert (await agent.run(code))["error"]["type"] in ("OSError", "PermissionError")


async def use_exporter(agent: Agent, served: Project) -> None:
    """What it has delivered is seen when the server has ended."""
    assert await agent.value(LIST) == [ANN]


async def use_guard(agent: Agent, served: Project) -> None:
    """A call that may change something is refused, one that reads is made."""
    assert await agent.value(LIST) == [ANN]
    refused = await agent.run("import people\npeople.add_person()")
    assert "nothing is changed before 00:00" in refused["error"]["message"]


async def use_hooks(agent: Agent, served: Project) -> None:
    """An address is blacked out, and a deprecated function is not there."""
    assert await agent.value(LIST) == [{"name": "Ann", "mail": "█████"}]
    assert (await agent.call("list_servers"))["servers"][0]["functions"] == 2


async def use_mcp(agent: Agent, served: Any) -> None:
    """The tool and the prompt are there."""
    said = await agent.call(f"{served.plugin.name}_days", first="2026-12-01", last="2026-12-24")
    assert said == "23 days, to a Thursday"
    assert f"{served.plugin.name}_plan" in [prompt.name for prompt in (await agent.client.list_prompts()).prompts]


async def use_observer(agent: Agent, served: Project) -> None:
    """What it has counted is seen when the server has ended."""
    assert await agent.value(LIST) == [ANN]


async def use_secrets(agent: Agent, served: Project) -> None:
    """The API sees the password; no program does."""
    assert await agent.value(LIST) == [ANN]
    assert People.seen[-1]["Authorization"] == "Bearer hunter2-hunter2"
    assert "hunter2" not in str(agent.received)


async def use_source(agent: Agent, served: Project) -> None:
    """A program calls its functions."""
    assert await agent.value('import diary\n[diary.read(name=n) for n in diary.find(text="MILK")]') == ["milk"]


async def use_view(agent: Agent, served: Any) -> None:
    """What it finds like a question says by what it was found."""
    async with asyncio.timeout(60):
        while True:  # functions are embedded in the background
            found = (await agent.call("search_functions", query="peoples listed", explain=True))["functions"]
            told = {hit["function"]: hit.get("matched", []) for hit in found}
            if f"like: {served.plugin.name}" in told.get("people.list_people", ()):
                return
            await asyncio.sleep(0.1)


USES = {kind: globals()[f"use_{kind}"] for kind in kinds()}
