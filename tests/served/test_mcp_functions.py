"""The tools of MCP servers, as an agent meets them: found, shown, called, observed, and never Doorward itself."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS
from .forked import Forked
from .product import Agent, Project, apart

pytestmark = pytest.mark.anyio

WIRE = Path(__file__).parents[2] / "plugins/mcp_upstream/tests/servers/wire.py"
"""A real process that speaks MCP, and says what a file tells it."""

PICTURE = {"type": "image", "data": base64.b64encode(b"PNG!").decode(), "mimeType": "image/png"}
PEOPLE = [{"id": 1, "name": "value-of-a-name"}]
TOOLS: list[dict[str, Any]] = [
    {
        "name": "find-people",
        "description": "Finds people. By their town.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "home-town": {"type": "string", "description": "Where they live"},
                "from": {"$ref": "#/$defs/Age"},
            },
            "required": ["home-town"],
            "$defs": {"Age": {"type": "integer", "minimum": 0}},
        },
        "annotations": {"readOnlyHint": True},
    },
    {"name": "everybody", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "picture.get", "inputSchema": {"type": "object"}},
    {"name": "fails", "inputSchema": {"type": "object"}},
    {
        "name": "count",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    },
    {"name": "broken", "inputSchema": {"type": "object", "properties": {f"p{i}": {} for i in range(2000)}}},
]
SAID = {
    "tools": TOOLS,
    "instructions": "People of the world.",
    "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}},
    "results": {
        "find-people": {"content": [{"type": "text", "text": json.dumps(PEOPLE)}]},
        "everybody": {"content": [{"type": "text", "text": json.dumps(PEOPLE * 3)}]},
        "picture.get": {"content": [{"type": "text", "text": "a picture"}, PICTURE]},
        "fails": {"content": [{"type": "text", "text": "no such town"}], "isError": True},
        "count": {"content": [{"type": "text", "text": '{"result": 7}'}], "structuredContent": {"result": 7}},
    },
    "answers": {
        "resources/read": {"people://1": {"contents": [{"uri": "people://1", "text": '{"id": 1}'}]}},
        "prompts/get": {
            "greet": {"description": "d", "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}]}
        },
    },
}


def project_with(folder: Path, more: str = "") -> Project:
    (folder / "said.json").write_text(json.dumps(SAID))
    (folder / "home").mkdir()
    command = json.dumps([sys.executable, str(WIRE), str(folder / "said.json")])
    people = f'[servers.people]\nsource = "mcp"\ncommand = {command}\ncwd = "home"\n'
    itself = f'[servers.itself]\nsource = "mcp"\ncommand = {json.dumps(["sh", "-c", "exec doorward serve"])}\n'
    return Forked(folder, LIMITS + people + itself + more)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project_with(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
async def agent(anyio_backend: str, project: Project) -> AsyncIterator[Agent]:
    async with apart(project.stdio()) as agent:
        yield agent


async def test_tools_are_found_shown_and_called_by_either_name(agent: Agent) -> None:
    """CONTRACT: SRC-18, SRC-20, MCP-10, SEC-10."""
    (found,) = (await agent.call("search_functions", query="find people", limit=1))["functions"]
    found.pop("gives", "")  # known as soon as another test has called it
    assert found == {"function": "people.find_people", "summary": "Finds people.", "read_only": True}
    (card,) = (await agent.call("get_functions", functions=["people.find-people"]))["functions"]
    assert "def find_people(\n    home_town: str,  # Where they live\n    from_: int = ..." in card["text"]
    assert "By their town." in card["text"]
    assert await agent.value('import people\npeople.find_people(home_town="Oslo")') == PEOPLE
    assert await agent.value('import people\npeople.find_people(**{"home-town": "Oslo", "from": 3})') == PEOPLE
    refused = await agent.run('import people\npeople.find_people(town="Oslo")')
    assert "home_town" in refused["error"]["message"]
    assert "home_town: str" in refused["error"]["hint"]
    assert "people.broken" not in str(await agent.call("list_servers"))


async def test_values_by_one_rule(agent: Agent) -> None:
    """Structured content unwrapped, JSON in texts parsed, pictures as artefacts, failures raised. CONTRACT: SRC-25."""
    assert await agent.value("import people\npeople.count()") == 7
    text, picture = await agent.value("import people\npeople.picture_get()")
    assert (text, picture["type"], picture["bytes"]) == ("a picture", "image/png", 4)
    failed = await agent.run("import people\npeople.fails()")
    assert "no such town" in failed["error"]["message"]
    assert await agent.value('import doorward\ndoorward.read_resource("people", "people://1")') == {"id": 1}
    prompt = await agent.value('import doorward\ndoorward.get_prompt("people", "greet")')
    assert prompt == {"description": "d", "messages": [{"role": "user", "content": "Hello"}]}


async def test_what_results_look_like_is_learnt(agent: Agent, project: Project) -> None:
    """Names and types of results without a schema are shown as observed; values are kept nowhere. CONTRACT: SRC-23,
    SRC-25."""
    await agent.value('import people\npeople.find_people(home_town="Oslo")')
    (card,) = (await agent.call("get_functions", functions=["people.find_people"]))["functions"]
    assert "-> list[FindPeopleResponseItem]:" in card["text"]
    assert "# The result: observed" in card["text"]
    assert "    id: int\n    name: str" in card["text"]
    assert "value-of-a-name" not in str(card)


async def test_a_server_says_where_it_works(agent: Agent, project: Project) -> None:
    """CONTRACT: DIS-14."""
    servers = {server["name"]: server for server in (await agent.call("list_servers"))["servers"]}
    assert servers["people"]["about"] == f"Working directory: {project.folder / 'home'}. People of the world."


async def test_an_entry_that_starts_doorward_is_skipped_with_a_notice(agent: Agent, project: Project) -> None:
    """CONTRACT: SEC-13, MCP-13."""
    servers = {server["name"]: server for server in (await agent.call("list_servers"))["servers"]}
    assert servers["itself"]["functions"] == 0
    refused = await agent.run('import doorward\ndoorward.list_resources("itself")')
    assert "would start Doorward itself" in refused["error"]["message"]
    told = json.loads(project.run("compile", "itself", "--json").stdout)["servers"]["itself"]
    assert "allow_self" in told["warnings"][0]


async def test_compile_and_probe(tmp_path: Path) -> None:
    """`doorward compile` makes the functions; `--probe` calls only what reads and needs nothing. CONTRACT: SRC-19,
    SRC-23."""
    project = project_with(tmp_path)
    told = json.loads(project.run("compile", "people", "--probe", "--json").stdout)
    assert told["servers"]["people"]["functions"] == 5
    assert [skipped["where"] for skipped in told["servers"]["people"]["skipped"]] == ["broken"]
    assert told["probed"] == {"people.everybody": {"result": "list[dict[str, Any]]"}}
    shown = project.run("show", "people.everybody").stdout
    assert "observed once" in shown
    assert "value-of-a-name" not in shown
    files = [each for each in project.state.rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if b"value-of-a-name" in each.read_bytes()]


async def test_a_tool_that_changes_is_refused_then_served_anew(tmp_path: Path) -> None:
    """CONTRACT: SEC-10."""
    project = project_with(tmp_path)
    async with project.stdio() as agent:
        assert await agent.value('import people\npeople.find_people(home_town="Oslo")') == PEOPLE
        schema = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
        changed = [{**TOOLS[0], "inputSchema": schema}, *TOOLS[1:]]
        (tmp_path / "said.json").write_text(json.dumps({**SAID, "tools": changed}))
        outcome = await agent.run(
            'import people\npeople.count()\nfor i in range(2000):\n    people.find_people(home_town="Oslo")'
        )
        assert "changed" in outcome["error"]["message"]
        for _ in range(100):
            again = await agent.run('import people\npeople.find_people(town="Oslo")')
            if again["ok"]:
                break
        assert again["value"] == PEOPLE
