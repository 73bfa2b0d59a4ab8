"""Agents find sooner what they used: through the MCP tools as they use them."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Call, Compiled, Function
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG, Weather
from mcp.client.client import Client

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("search", "text")


NEEDS = {"type": "object", "properties": {"film": {"type": "string"}}, "required": ["film"]}
FILM = {"type": "object", "properties": {"code": {"type": "string"}, "title": {"type": "string"}}}


class Films(Weather):
    async def compile(self) -> Any:
        films = {"type": "array", "items": FILM}
        return Compiled(
            [
                Function("other", "list_films", summary="Films of a year", returns=films, read_only=True),
                Function("other", "read_films", summary="Films of a year, with posters", returns=films, read_only=True),
                Function("other", "cast", summary="Who plays in it", parameters=NEEDS, read_only=True),
            ]
        )

    async def call(self, call: Call) -> Any:
        return [{"code": f"film-{n}", "title": "A title"} for n in range(3)]


async def test_an_agent_is_led_by_what_it_used(doorward_host: Any) -> None:
    """It searches, runs a program, and searches again: another order, what goes together, and who gives what."""
    doorward_host.install("source", "films", Films)
    config = CONFIG.replace("weather", "other").replace("fake", "films")
    program = "films = await other.read_films()\nresult = await other.cast(film=films[1]['code'])"
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:

        async def found(query: str) -> list[Any]:
            answer = await client.call_tool("search_functions", {"query": query})
            return list(answer.structured_content["functions"])

        assert [hit["function"] for hit in await found("films of some year")][:2] == [
            "other.list_films",
            "other.read_films",
        ]
        for _ in range(20):
            assert (await client.call_tool("execute_code", {"code": program})).structured_content["ok"]
            assert await found("films of some year")
        await gate.plugins.manager.get_plugin("search").learning.settle()
        assert (await found("films of some year"))[0]["function"] == "other.read_films"
        assert (await found("who plays in it"))[0]["needs"] == {"film": ["read_films"]}
        card = await client.call_tool("get_functions", {"functions": ["other.cast"]})
        assert card.structured_content["functions"][0]["text"].splitlines()[-2:] == [
            "# film: `code` of read_films",
            "# often with: other.read_films",
        ]
