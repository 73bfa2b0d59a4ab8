"""Doorward's own tools: one entry and one handler each, from which all else follows."""

from __future__ import annotations

from typing import Annotated, Any

import jsonschema_rs
import pytest
from doorward import Function, InvalidArguments
from doorward_mcp_server import served_tools
from doorward_mcp_server.server import build
from doorward_mcp_server.tool import Answer, Caller, OwnTool
from doorward_mcp_server.tools import TOOLS
from doorward_testing.samples import CONFIG, Weather
from mcp.client.client import Client

pytestmark = pytest.mark.anyio
BY_NAME = {tool.name: tool for tool in TOOLS}


async def count_words(
    caller: Caller, text: Annotated[str, "To be counted"], most: int = 10, words: list[str] | None = None
) -> Answer:
    return f"{len(text.split())} words, {caller.principal}, {most!r}", {"words": len(text.split())}, False


SIXTH = OwnTool(count_words, "Count words", "Counts words.", {"type": "object"}, TOOLS[0].annotations)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schemas_of_tools_are_good_ones(tool: OwnTool) -> None:
    """What a tool takes and answers are schemas, and each argument says of which type it is."""
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema_rs.Draft202012Validator(schema)
        assert schema["type"] == "object"
    assert all(argument["type"] for argument in tool.input_schema["properties"].values())
    assert set(tool.input_schema.get("required", ())) <= set(tool.input_schema["properties"])


async def test_a_tool_is_an_entry_and_a_handler(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From these follow its listing, its schema, the check of its arguments and the names that no function may have."""
    monkeypatch.setattr(served_tools, "TOOLS", (*TOOLS, SIXTH))
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate)) as client:
        tool = {tool.name: tool for tool in (await client.list_tools()).tools}["count_words"]
        assert (tool.title, tool.description) == ("Count words", "Counts words.")
        assert tool.input_schema == {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "To be counted"},
                "most": {"type": "integer", "default": 10},
                "words": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["text"],
        }
        answer = await client.call_tool("count_words", {"text": "a b c", "most": 3.0})
        assert (answer.content[0].text, answer.structured_content) == ("3 words, local, 3", {"words": 3})
        wrong = await client.call_tool("count_words", {"most": "x"})
        assert wrong.content[0].text == (
            "InvalidArguments: count_words needs the argument 'text'; argument most: expected int, got str 'x'\n"
            "hint: count_words(text: string, most?: integer, words?: array)"
        )
    async with doorward_host.gateway('surface = "minimal"\n' + CONFIG) as gate, Client(build(gate)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["execute_code"]


async def test_no_direct_tool_is_called_as_one_of_ours(doorward_host: Any) -> None:
    """An exposed function gets another name where the table has its, whatever the surface, so that the name stays what
    it is."""

    class Search(Weather):
        async def compile(self) -> Any:
            from doorward import Compiled

            return Compiled(
                [Function("execute", "code", "code", "Not ours"), Function("execute", "fine", "fine", "Theirs")]
            )

    doorward_host.install("source", "search", Search)
    config = CONFIG + '[servers.execute]\nsource = "search"\nexpose = ["*"]\n'
    for surface, ours in (("standard", 5), ("minimal", 1)):
        async with doorward_host.gateway(f'surface = "{surface}"\n{config}') as gate, Client(build(gate)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names.count("execute_code") == 1
            assert len(names) == len(set(names)) == ours + 2
            assert "execute_fine" in names
            assert any(name.startswith("execute_code_") for name in names)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"code": deep(3000)}, "argument code: expected str, got a dict with 'a'"),
        ({"code": "1", "functions": [deep(3000)]}, "argument functions[0]: expected str, got a dict with 'a'"),
        ({"code": "1", "timeout": True}, "argument timeout: expected float, got bool True"),
        ({"code": "1", "timeout": float("nan")}, "argument timeout: expected float"),
        ({"code": "1", **{f"x{n}": n for n in range(500)}}, "has no parameter 'x0', "),
        ({"code": "1", "\u202e": 1}, "has no parameter"),
        ({"code": "1", "\ud800": 1}, "has no parameter '?'"),
        ({"code": "1", "caller": 1}, "has no parameter 'caller'"),
    ],
)
def test_odd_arguments_are_refused_readably(given: dict[str, Any], said: str) -> None:
    """However deep, many or strange they are."""
    with pytest.raises(InvalidArguments, match="execute_code") as refused:
        BY_NAME["execute_code"].checked(given)
    assert said in str(refused.value)


def test_what_is_inside_of_parameters_is_not_looked_at() -> None:
    """Values for a program may be anything; so may the text of one."""
    given = {"code": "\ud800", "params": {"a": deep(3000), "b": 10**400}, "timeout": 10**400}
    assert BY_NAME["execute_code"].checked(given) == given
