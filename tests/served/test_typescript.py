"""Programs in TypeScript and JavaScript through the served product: what an agent does with nothing but the texts of the
tools."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, Project, apart

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the executor needs Linux"),
    pytest.mark.skipif(importlib.util.find_spec("deno") is None, reason="deno is absent: `pip install deno` brings it"),
    pytest.mark.anyio,
]


@pytest.fixture(scope="module")
def project(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    shelf = SHELF.format(url=api.url)
    project = Forked(
        tmp_path_factory.mktemp("typescript"), LIMITS + shelf + shelf.replace("servers.shelf", "servers.my-shelf")
    )
    project.change('executor = "monty"', 'executor = ["monty", "deno"]')
    return project


@pytest.fixture(scope="module")
async def agent(anyio_backend: str, project: Project) -> AsyncIterator[Agent]:
    """A client of a gateway with an executor for Python and one for TypeScript."""
    async with apart(project.stdio()) as agent:
        yield agent


async def test_the_way_of_an_agent(agent: Agent) -> None:
    """It finds the language in the tool, reads a declaration, and does what the example there does. CONTRACT: EXE-02."""
    tools = {tool.name: tool.input_schema["properties"] for tool in (await agent.client.list_tools()).tools}
    assert tools["execute_code"]["language"]["enum"] == ["python", "typescript", "javascript"]
    await agent.call("get_functions", functions=["shelf.create_item"], language="typescript")
    start, _, rest = agent.text.partition("\n\n")
    example = rest.rpartition("\n\n")[2]
    assert start == 'import * as shelf from "shelf";'
    assert "declare function create_item(args: {" in rest
    answer = await agent.run(f"{start}\n{example}", language="typescript")
    assert (answer["ok"], answer["executor"]) == (True, "deno"), answer
    python = await agent.run("import shelf\nresult = shelf.get_item(id=7)['id']")
    assert (python["value"], python["executor"]) == (7, "monty")


async def test_a_whole_program(agent: Agent) -> None:
    """Types, parameters, parallel calls, pages, printed text, the value, calls that are counted."""
    code = """\
import * as shelf from "shelf";
import * as doorward from "doorward";
interface Seen { id: number }
const ids: number[] = [1, 2];
const label: string = "a";
const found: Seen[] = await Promise.all(ids.map((id) => shelf.get_item({ id })));
console.log(label, found.length);
const all = await doorward.items("shelf.list_items", {}, { most: 3 });
const result = { ids: found.map((item) => item.id), three: all.length };
"""
    answer = await agent.run(code, language="typescript", params={"label": "b"})
    assert answer["value"] == {"ids": [1, 2], "three": 3}, answer
    assert answer["printed"] == "b 2\n"
    assert {call["function"]: call["count"] for call in answer["calls"]}["shelf.get_item"] == 2
    again = await agent.call("run_cached_code", cache_id=answer["cache_id"], params={"ids": [5], "label": "c"})
    assert (again["value"]["ids"], again["printed"], again["executor"]) == ([5], "c 1\n", "deno")
    wrong = await agent.call("run_cached_code", cache_id=answer["cache_id"], params={"ids": "5"})
    assert "parameter 'ids' is of type array, got string" in wrong["error"]["message"]


async def test_mistakes_are_told_in_its_words(agent: Agent) -> None:
    """The line, the right signature or field, similar names, an import that is missing."""
    head = 'import * as shelf from "shelf";\n'
    for code, message, hint in (
        ('await shelf.get_item({ id: "x" })', "argument id: expected number, got string", "    id: number;"),
        ("await shelf.get_item()", "needs the argument 'id'", "declare function get_item(args: { id: number })"),
        ("await shelf.get_itme({ id: 1 })", "there is no function 'shelf.get_itme'", "shelf.get_item"),
        ("const one = await shelf.get_item({ id: 1 }); one.part.name", "Cannot read properties of undefined", "get_item"),
        ('import * as shlf from "shlf";', "shlf", "shelf"),
    ):  # fmt: skip
        error = (await agent.run(head + code, language="typescript"))["error"]
        assert message in error["message"]
        assert hint in error.get("hint", ""), error
        assert error.get("line") == 2, error
    missing = (await agent.run("await shelf.get_item({ id: 1 })", language="javascript"))["error"]
    assert 'Write `import * as shelf from "shelf"` first.' in missing["hint"]
    caught = await agent.run(
        'import * as shelf from "shelf";\nimport { ApiError } from "doorward";\n'
        "try { await shelf.status({ code: 404 }) } catch (error) {\n"
        "  var result = [error instanceof ApiError, error.status]\n}\nresult",
        language="typescript",
    )
    assert caught["value"] == [True, 404], caught


async def test_programs_of_other_systems(agent: Agent) -> None:
    """Servers by configured names and from folders of wrappers, and helpers without an import. CONTRACT: EXE-08,
    SRC-20."""
    for code in (
        'import * as mine from "my-shelf"; (await mine.get_item({ id: 7 })).id',
        'import * as shelf from "./servers/shelf.ts"; (await shelf.getItem({ id: 7 })).id',
        'import { getItem } from "./mcp-wrappers/my-shelf"; (await getItem({ id: 7 })).id',
        '(await callMCPTool("mcp__shelf__get_item", { id: 7 })).id',
        'const callMCPTool = (name) => 7; callMCPTool("mine")',
    ):
        answer = await agent.run(code, language="typescript")
        assert answer.get("value") == 7, (code, answer)


async def test_a_session_of_typescript(agent: Agent) -> None:
    """It keeps variables, needs no word of its language any more, and takes no other."""
    first = await agent.run("const kept: number = 41", language="typescript", session_id="new")
    again = await agent.run("kept + 1", session_id=first["session_id"])
    assert again["value"] == 42
    other = await agent.run("kept", language="python", session_id=first["session_id"])
    assert "this session runs typescript, not python" in other["error"]["message"]


async def test_discovery_from_within(agent: Agent) -> None:
    """A program describes functions in its own language, and reads the rest of a large value as the answer says."""
    described = await agent.run(
        'import * as doorward from "doorward"; await doorward.describe("shelf.get_item")', language="typescript"
    )
    assert "declare function get_item(args: {" in described["value"]
    big = await agent.run('import * as shelf from "shelf"; await shelf.big({ count: 3000 })', language="typescript")
    read = big["truncated"]["read"]
    whole = await agent.run(f'import * as doorward from "doorward"; ({read}).length', language="typescript")
    assert whole["value"] == 3000, (read, whole)


def test_on_the_command_line(project: Project, tmp_path: Path) -> None:
    """`doorward run FILE.ts`, and what the audit log says of it."""
    (tmp_path / "one.ts").write_text(
        'import * as shelf from "shelf";\nconst id: number = 1;\nawait shelf.get_item({ id })'
    )
    ended = project.run("run", str(tmp_path / "one.ts"), "--param", "id=7", "--json")
    assert '"id": 7' in ended.stdout, ended
    assert project.audit()[-1]["language"] == "typescript"
    shown = project.run("show", "shelf.get_item", "--language", "typescript")
    assert "declare function get_item(args: {\n    id: number;\n}): Promise<" in shown.stdout
