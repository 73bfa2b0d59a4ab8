"""The text of a search's answer says all that an agent needs to choose."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_mcp_server.found import found_lines
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG
from mcp.client.client import Client

pytestmark = pytest.mark.anyio


def test_a_hit_in_a_line() -> None:
    """What it gives, what it does, what it needs; which question it answers, and why."""
    hit = {
        "function": "a.drop", "summary": "Drop it", "gives": "list[Thing]", "destructive": True,
        "needs": {"id": ["list_things"]}, "answers": [1, 2], "matched": ["drop (name)"],
    }  # fmt: skip
    assert [*found_lines({"functions": [hit], "total": 1})] == [
        "a.drop -> list[Thing]: Drop it (destructive; needs id: from list_things; for 1, 2; matched: drop (name))"
    ]
    assert [*found_lines({"functions": [], "total": 0, "near": ["a.b"]})] == [
        "Nothing found. Near: a.b. Try other words."
    ]


def test_how_many_fit_well() -> None:
    """That is told where there are more; where none does; and what is not there yet."""
    found = {"functions": [{"function": "a.drop", "summary": "Drop it"}], "total": 551, "well": 3, "cursor": "c"}
    assert [*found_lines(found)][1:] == ["3 fit well, 551 in all; more with cursor='c'"]
    assert [*found_lines(found | {"well": 0, "compiling": 2})][1:] == [
        "None of these fits well. Try other words.",
        "551 in all; more with cursor='c'",
        "2 servers are still being compiled: search again later for what they have.",
    ]


@pytest.mark.slow
async def test_several_questions_in_one_call(doorward_host: Any) -> None:
    """`queries` and `explain` are arguments of the tool. CONTRACT: DIS-08."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate)) as client:
        answer = await client.call_tool(
            "search_functions", {"queries": ["add a station", "forecast for a city"], "explain": True}
        )
        first, second, *_ = answer.content[0].text.splitlines()
        assert first.startswith("weather.add_station: Add a station (for 1")
        assert second.startswith("weather.get_forecast -> {high}: The forecast for a city (read-only; for")
        nothing = await client.call_tool("search_functions", {"query": "tag:nosuch station"})
        assert nothing.content[0].text == "Nothing found. Try other words."


async def test_the_output_schema_names_all_that_a_hit_has(doorward_host: Any) -> None:
    """Clients see from the definition what may be there; an answer has nothing else."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate)) as client:
        (schema,) = [t.output_schema for t in (await client.list_tools()).tools if t.name == "search_functions"]
        named = {*schema["properties"], *schema["properties"]["functions"]["items"]["properties"]}
        several = {"queries": ["add a station", "forecast"], "explain": True, "limit": 1}
        for asked in (several, {"query": "tag:nosuch station"}):
            answer = (await client.call_tool("search_functions", asked)).structured_content
            assert {*answer, *(key for hit in answer["functions"] for key in hit)} <= named
        assert {"near", "needs", "gives", "answers", "matched", "destructive"} <= named
