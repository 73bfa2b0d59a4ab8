"""Agents are told who gives the identifiers that a function needs: beside a hit, and at the end of a card."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Compiled, Function
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG, Weather
from mcp.client.client import Client

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("search", "text")


PERSON = {"type": "object", "properties": {"personId": {"type": "integer"}, "name": {"type": "string"}}}
ASKED = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
NEEDY = {
    "type": "object",
    "properties": {"person_id": {"type": "integer"}, "order_id": {"type": "string"}},
    "required": ["person_id", "order_id"],
}


class Films(Weather):
    async def compile(self) -> Any:
        people = {"type": "array", "items": PERSON}
        return Compiled(
            [
                Function("films", "find_person", summary="Find people", parameters=ASKED, returns=people, read_only=True),
                Function("films", "get_credits", summary="Movies of a director", parameters=NEEDY, read_only=True),
            ]
        )  # fmt: skip


async def test_who_gives_what_a_function_needs(doorward_host: Any) -> None:
    """As text and as data; what nobody is likely to give is not mentioned."""
    doorward_host.install("source", "films", Films)
    config = CONFIG + '[servers.films]\nsource = "films"\n'
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        found = await client.call_tool("search_functions", {"query": "movies of a director", "server": "films"})
        assert found.structured_content["functions"][0] == {
            "function": "films.get_credits",
            "summary": "Movies of a director",
            "read_only": True,
            "needs": {"person_id": ["find_person"]},
        }
        line = "films.get_credits: Movies of a director (read-only; needs person_id: from find_person)"
        assert line in found.content[0].text.splitlines()
        card = await client.call_tool("get_functions", {"functions": ["films.get_credits", "films.find_person"]})
        texts = [each["text"] for each in card.structured_content["functions"]]
        assert texts[0].splitlines()[-1] == "# person_id: `personId` of find_person"
        assert "find_person" not in texts[1].splitlines()[-1].partition("#")[2]
