"""What `doorward plugin new` writes, as a stranger has it: built as a wheel, installed beside ours, its tests run as they
were generated, and used in a served gateway."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward_testing import Commands
from doorward_testing.authoring.kinds import kinds

from .environment import ROOT, Environment, build, wheels
from .product import Agent, Answering, Project, apart, web

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

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


class Plugins:
    """Generated plugins, installed from their wheels into an environment with the wheels of this repository."""

    def __init__(self, folder: Path, ours: Path, some: list[str]) -> None:
        self.folder, self.kinds = folder, some
        self.environment = Environment(folder / "venv")
        for wheel in ours.glob("*.whl"):
            self.environment.install(wheel)
        self.commands = Commands(str(self.environment.python))
        (folder / "generated").mkdir()
        self.distributions = {}
        for kind in some:
            told = self.run("plugin", "new", kind, f"my_{kind}", "--folder", str(self.source(kind)), "--json")
            self.distributions[kind] = json.loads(told)["distribution"]
        for wheel in build(map(self.source, some), folder / "dist"):
            self.environment.install(wheel)

    def source(self, kind: str) -> Path:
        """The folder of its source."""
        return self.folder / "generated" / kind

    def variables(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith(("DOORWARD_", "PYTEST_", "PYTHON"))}

    def run(self, *words: str) -> str:
        """What a command of the command line prints, which succeeds."""
        ended = self.commands.run(words, self.variables(), self.folder)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def tested(self, folder: Path) -> dict[str, list[str]]:
        """How the tests of each kind end, as they were generated, with nothing else of the packages there."""
        for kind in self.kinds:
            shutil.copytree(self.source(kind) / "tests", folder / f"my_{kind}" / "tests")
        command = [str(self.environment.python), "-m", "pytest", "-v", "--import-mode=importlib", "--rootdir=."]
        words = [*command, *(f"my_{kind}/tests" for kind in self.kinds)]
        ended = subprocess.run(words, cwd=folder, env=self.variables(), capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        lines = re.findall(r"^my_(\w+)/tests/\S+\.py::.* ([A-Z]+) ", ended.stdout, re.MULTILINE)
        return {kind: [status for one, status in lines if one == kind] for kind in self.kinds}


class Served(Project):
    """A project whose Doorward has the plugins."""

    def __init__(self, folder: Path, plugins: Plugins, config: str, url: str) -> None:
        self.plugins = plugins
        super().__init__(folder, config.format(url=url, folder=folder), {"KEY": "correct-horse"})

    def configure(self, config: str) -> None:
        self.file.write_text(f'state = "state"\n{config}')

    def command(self, *words: str) -> list[str]:
        return [str(self.plugins.environment.python), "-m", "doorward", *words, "--config", str(self.file)]

    def quick(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command, for which Python is not started."""
        return self.plugins.commands.run([*words, "--config", str(self.file)], self.environment(), self.folder)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of this repository."""
    folders = [folder for folder in FOLDERS if (ROOT / folder / "pyproject.toml").is_file()]
    return wheels(folders, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory, ours: Path) -> Iterator[dict[str, Plugins]]:
    """The plugins of each kind. All share an environment, but a distribution, which would be the active one for all,
    and an executor where it does not work."""
    works = shutil.which("unshare") and not subprocess.run(NAMESPACES).returncode
    some = [kind for kind in kinds() if kind != "distribution" and (works or kind != "executor")]
    shared = Plugins(tmp_path_factory.mktemp("shared"), ours, some)
    alone = Plugins(tmp_path_factory.mktemp("alone"), ours, ["distribution"])
    yield dict.fromkeys(some, shared) | {"distribution": alone}
    for plugins in (shared, alone):
        plugins.commands.close()


@pytest.fixture
def plugins(request: Any, generated: dict[str, Plugins]) -> Plugins:
    """Those among which that of the test's kind is."""
    kind = request.getfixturevalue("kind") if "kind" in request.fixturenames else "executor"
    if kind not in generated:
        pytest.skip("namespaces are not allowed here, or there is no unshare(1)")
    return generated[kind]


@pytest.fixture(scope="module")
def tested(generated: dict[str, Plugins], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """How the tests of each kind ended."""
    runs = [plugins.tested(tmp_path_factory.mktemp("tested")) for plugins in dict.fromkeys(generated.values())]
    return {kind: statuses for run in runs for kind, statuses in run.items()}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_its_tests_pass(kind: str, plugins: Plugins, tested: dict[str, list[str]]) -> None:
    """As they were generated, against what is installed."""
    assert {"PASSED"} <= set(tested[kind]) <= {"PASSED", "SKIPPED"}


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_it_is_as_it_should_be(kind: str, plugins: Plugins) -> None:
    """`doorward plugin check` finds nothing to do in the folder of its source; nor, for one of each way in which
    plugins are loaded, where it is installed."""
    source = str(plugins.source(kind))
    for target in (source, *[plugins.distributions[kind]] * (kind in ("cache", "command", "distribution", "hooks"))):
        told = json.loads(plugins.run("plugin", "check", "--no-tests", target, "--json"))
        to_do = [line["says"] for line in told["checks"] if line["status"] != "ok"]
        both = "is installed here, too: that copy is checked, and not the folder"  # two distributions are refused
        assert to_do == ([both] if kind == "distribution" and target == source else []), told


PEOPLE = '[servers.people]\nsource = "openapi"\nspec = "{url}/openapi.json"\nbase_url = "{url}"\n'
TOGETHER = (
    """executor = "monty"
cache = "my_cache"
plugins = ["my_guard", "my_hooks", "my_mcp", "my_secrets", "my_tool"]
search_view = ["my_view"]
[hooks.my_guard]
begins = "00:00"
ends = "00:00"
[hooks.my_secrets]
path = "{folder}/netrc"
[servers.diary]
source = "my_source"
path = "notes"
"""
    + PEOPLE.replace("people]", "signed]")
    + 'auth = {{ type = "my_auth", key = "${{KEY}}" }}\n'
    + PEOPLE
    + 'auth = {{ type = "bearer", token = "${{my_secrets:people}}" }}\n'
)
"""All that can be used in one gateway, and need not be looked at when it has ended."""
RUNNING = 'executor = "my_executor"\ncache = "none"\nplugins = []\n' + PEOPLE
WATCHED = (
    'executor = "monty"\ncache = "none"\nplugins = ["my_observer"]\nobserver = ["my_exporter"]\n'
    '[observers.my_exporter]\nurl = "{url}/events"\n'
) + PEOPLE
STORED = 'executor = "monty"\ncache = "none"\nstore = "my_store"\nplugins = []\n[[budgets]]\nruns = 2\n' + PEOPLE
SEARCHED = 'executor = "monty"\ncache = "none"\nplugins = ["my_search_engine"]\ncapabilities = []\n' + PEOPLE
DECIDED = (
    'executor = "monty"\ncache = "none"\nplugins = ["my_decider"]\n[hooks.my_decider.teams]\n"*.add_*" = "ops"\n'
    + PEOPLE
)
LAYERED = 'executor = "monty"\ncache = "none"\nplugins = ["my_layer"]\n' + PEOPLE
LIST = "import people\npeople.list_people()"
ANN = {"name": "Ann", "mail": "ann@example.com"}
HIDDEN = {"name": "Ann", "mail": "█████"}
"""What the plugin of hooks leaves of her."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, generated: dict[str, Plugins], people: str) -> Served:
    """A project with all that fits into one."""
    served = Served(tmp_path_factory.mktemp("together") / "project", generated["hooks"], TOGETHER, people)
    (served.folder / "netrc").write_text("machine people login me password hunter2-hunter2\n")
    (served.folder / "notes").mkdir()
    (served.folder / "notes/monday.md").write_text("milk")
    return served


@pytest.fixture(scope="module")
async def agent(anyio_backend: str, served: Served) -> AsyncIterator[Agent]:
    """A client of `doorward serve` in that project."""
    async with apart(served.stdio()) as agent:
        yield agent


def test_every_kind_is_served() -> None:
    """Each is named by a configuration below, but a command and a distribution, which need not be."""
    named = set(re.findall(r"\bmy_(\w+)", TOGETHER + RUNNING + WATCHED + LAYERED + STORED + SEARCHED + DECIDED))
    assert named | {"command", "distribution"} == set(kinds())


async def test_an_auth_signs(agent: Agent) -> None:
    """The API sees a signature; a program does not see the key."""
    assert await agent.value("import signed\nsigned.list_people()") == [HIDDEN]
    assert len(People.seen[-1]["X-Signature"]) == 64
    assert "correct-horse" not in str(agent.received)


async def test_a_cache_has_programs(agent: Agent) -> None:
    """A program is run again by its id."""
    first = await agent.run("x = 1\nx + 1")
    again = await agent.call("run_cached_code", cache_id=first["cache_id"], params={"x": 2})
    assert again["value"] == 3


async def test_a_command_works(agent: Agent, served: Served) -> None:
    """Beside the server."""
    assert await agent.value(LIST) == [HIDDEN]
    ended = served.quick("my_command", "--json")
    assert {"server": "people", "reads": 1, "changes": 1} in json.loads(ended.stdout)["servers"], ended.stderr


async def test_a_distribution_holds(generated: dict[str, Plugins], people: str, tmp_path: Path) -> None:
    """What it pins serves; the audit log is there though nobody asked for it, and another address is refused."""
    served = Served(tmp_path, generated["distribution"], PEOPLE, people)
    async with served.stdio() as agent:
        assert await agent.value(LIST) == [ANN]
        assert "run_finished" in {line["event"] for line in served.audit()}
        served.change(last='[http]\nhost = "0.0.0.0"\n')
        ended = served.quick("list")
        refused_by = served.plugins.distributions["distribution"]
        assert (ended.returncode, refused_by in ended.stderr) == (2, True), ended.stderr


async def test_an_executor_runs_programs(plugins: Plugins, people: str, tmp_path: Path) -> None:
    """A program of full Python runs, and reaches no network."""
    async with Served(tmp_path, plugins, RUNNING, people).stdio() as agent:
        answer = await agent.run(f"import statistics\n{LIST}\nstatistics.mean([1, 3])")
        assert (answer["value"], answer["executor"]) == (2, "my_executor")
        code = "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)"
        assert (await agent.run(code))["error"]["type"] in ("OSError", "PermissionError")


async def test_an_exporter_and_an_observer_see_what_was_done(
    generated: dict[str, Plugins], people: str, tmp_path: Path
) -> None:
    """What one has delivered, and the other counted, is there when the server has ended."""
    People.events.clear()
    served = Served(tmp_path, generated["exporter"], WATCHED, people)
    async with served.stdio() as agent:
        assert await agent.value(LIST) == [ANN]
    told = [event["event"] for event in People.events]
    assert told[-3:] == ["RunStarted", "CallFinished", "RunFinished"], told
    assert "ann@example.com" not in str(People.events)
    counted = json.loads((served.state / "my_observer.json").read_text())
    assert counted == {"runs": {"succeeded": 1}, "calls": {"people.list_people": 1}}


async def test_a_guard_refuses(agent: Agent) -> None:
    """A call that may change something is refused, one that reads is made."""
    assert await agent.value(LIST) == [HIDDEN]
    refused = await agent.run("import people\npeople.add_person()")
    assert "nothing is changed before 00:00" in refused["error"]["message"]


async def test_hooks_change_answers(agent: Agent) -> None:
    """An address is blacked out, and a deprecated function is not there."""
    assert await agent.value(LIST) == [HIDDEN]
    listed = {server["name"]: server["functions"] for server in (await agent.call("list_servers"))["servers"]}
    assert listed["people"] == 2


async def test_a_layer_answers(generated: dict[str, Plugins], people: str, tmp_path: Path) -> None:
    """The API is asked once for what two programs read."""
    async with Served(tmp_path, generated["layer"], LAYERED, people).stdio() as agent:
        assert await agent.value(LIST) == [ANN]
        asked = len(People.seen)
        assert await agent.value(LIST) == [ANN]
        assert len(People.seen) == asked


@pytest.mark.parametrize(("team", "finds"), [("ops", True), ("sales", False)])
async def test_a_decider_hides(
    generated: dict[str, Plugins], people: str, tmp_path: Path, team: str, finds: bool
) -> None:
    """A function of another team is not found, and cannot be called."""
    config = f'{DECIDED}[principals.local.attributes]\nteam = "{team}"\n'
    async with Served(tmp_path, generated["decider"], config, people).stdio() as agent:
        assert await agent.value(LIST) == [ANN]
        found = await agent.call("search_functions", query="add person")
        assert ("people.add_person" in [hit["function"] for hit in found["functions"]]) == finds
        assert ("error" in await agent.run("import people\npeople.add_person()")) != finds


async def test_a_store_counts(generated: dict[str, Plugins], people: str, tmp_path: Path) -> None:
    """What a budget has counted is in its file: the third run is one too many, for another process, too."""
    served = Served(tmp_path, generated["store"], STORED, people)
    for _ in range(2):
        async with served.stdio() as agent:
            assert await agent.value(LIST) == [ANN]
    async with served.stdio() as agent:
        assert "budget" in (await agent.run(LIST))["error"]["message"]


async def test_a_search_engine_finds(generated: dict[str, Plugins], people: str, tmp_path: Path) -> None:
    """By the letters that words begin with: the engine that comes with `standard` is not in use."""
    async with Served(tmp_path, generated["search_engine"], SEARCHED, people).stdio() as agent:
        found = await agent.call("search_functions", query="listings of peoples")
        assert [hit["function"] for hit in found["functions"]] == ["people.list_people"]


async def test_a_tool_remembers(agent: Agent) -> None:
    assert "my_tool_read" not in {tool.name for tool in (await agent.client.list_tools()).tools}
    assert (await agent.call("my_tool_write", line="milk"))["lines"] == ["milk"]
    assert (await agent.call("my_tool_read"))["lines"] == ["milk"]


async def test_a_tool_and_a_prompt_are_there(agent: Agent) -> None:
    said = await agent.call("my_mcp_days", first="2026-12-01", last="2026-12-24")
    assert said == "23 days, to a Thursday"
    assert "my_mcp_plan" in [prompt.name for prompt in (await agent.client.list_prompts()).prompts]


async def test_secrets_reach_the_api(agent: Agent) -> None:
    """The API sees the password; no program does."""
    assert await agent.value(LIST) == [HIDDEN]
    assert People.seen[-1]["Authorization"] == "Bearer hunter2-hunter2"
    assert "hunter2" not in str(agent.received)


async def test_a_source_has_functions(agent: Agent) -> None:
    """A program calls them."""
    assert await agent.value('import diary\n[diary.read(name=n) for n in diary.find(text="MILK")]') == ["milk"]


async def test_a_view_finds(agent: Agent) -> None:
    """What it finds like a question says by what it was found."""
    async with asyncio.timeout(60):
        while True:  # functions are embedded in the background
            found = (await agent.call("search_functions", query="peoples listed", explain=True))["functions"]
            told = {hit["function"]: hit.get("matched", []) for hit in found}
            if "like: my_view" in told.get("people.list_people", ()):
                return
            await asyncio.sleep(0.1)
