"""Lists of many servers and guides come in pages that cost the same, however many there are: told by counts, never by
times."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Gateway
from doorward.data.cursors import cursor_at
from doorward_mcp_server.server import build
from doorward_mcp_server.tools import SERVERS_PER_PAGE
from doorward_testing.many_servers import FEW, FUNCTIONS, Counted, Rows, opened
from mcp.client import Client

pytestmark = pytest.mark.anyio

MANY = 240
"""Servers; what costs the same for so many and for few does not depend on their number."""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "rows", Rows)
    return doorward_host


@pytest.mark.slow
async def test_the_list_of_servers_is_one_page(place: Any, counted: Counted) -> None:
    """Its bytes and its statements are those of a page, and the pages together name each server once.
    CONTRACT: DIS-01."""

    async def listed(gate: Gateway) -> tuple[int, int]:
        async with Client(build(gate)) as client:
            with counted.afresh():
                answer = await client.call_tool("list_servers", {})
            statements, size = len(counted.statements), len(answer.content[0].text)
            names, cursor = [], None
            while True:
                shown = (
                    await client.call_tool("list_servers", {"cursor": cursor} if cursor else {})
                ).structured_content
                names += [server["name"] for server in shown["servers"]]
                if (cursor := shown.get("cursor")) is None:
                    break
                assert (
                    cursor in (await client.call_tool("list_servers", {})).content[0].text
                    or len(names) > SERVERS_PER_PAGE
                )
            assert names == list(gate.servers.names("local"))
            assert shown["servers"][0]["functions"] == FUNCTIONS
            beyond = await client.call_tool("list_servers", {"cursor": cursor_at(10**9)})
            assert (beyond.structured_content["servers"], "no more" in beyond.content[0].text) == ([], True)
            wrong = await client.call_tool("list_servers", {"cursor": "%%%"})
            assert wrong.is_error
            assert "cursor" in wrong.content[0].text
            return statements, size // 100

    few, many = await opened(place, FEW, listed), await opened(place, MANY, listed)
    assert few == many
    assert few[1] < 60
