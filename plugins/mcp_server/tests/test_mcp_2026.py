"""What the protocol of 2026-07-28 adds: lists that clients may keep, and headers that name what a request is about."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from doorward import Gateway
from doorward_mcp_server.server import CHANGING_TTL_MS, build
from doorward_mcp_server.transports import serve_http
from doorward_testing.samples import CONFIG
from mcp.client.client import Client

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def served(gate: Gateway) -> AsyncIterator[str]:
    """The URL of a gateway that is served over HTTP in this process."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve_http(gate, "127.0.0.1", 0, ready=ready.set_result))
    try:
        yield await ready
    finally:
        serving.cancel()
        await asyncio.wait([serving])


@ERAS
async def test_lists_say_how_long_they_are_fresh(doorward_host: Any, era: str) -> None:
    """Each principal's own, a minute; a few seconds where an API's functions are among them; and what resources hold,
    never. The older era has no such fields: a client keeps nothing."""
    for more, tools in (("", 60_000), ("expose = ['get_forecast']\n", CHANGING_TTL_MS)):
        async with doorward_host.gateway(CONFIG + more) as gate, Client(build(gate), mode=era) as client:
            session = client.session
            answers = [await session.list_tools(), await session.list_prompts(), await session.list_resources()]
            answers += [await session.list_resource_templates(), await session.read_resource("doorward://capabilities")]
            said = [(answer.ttl_ms, answer.cache_scope) for answer in answers]
            wanted = [tools, 60_000, 60_000, 60_000, 0] if era == "auto" else [0] * 5
            assert said == [(ttl, "private") for ttl in wanted]


async def test_headers_must_name_what_the_request_is_about(doorward_host: Any) -> None:
    """What stands between client and server may route and limit by the headers, so they say what the body says, once
    each; otherwise nothing is done."""
    params = {"name": "list_servers", "arguments": {}, "_meta": META}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    right = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "list_servers")]
    async with doorward_host.gateway(CONFIG) as gate, served(gate) as url, httpx2.AsyncClient() as http:

        async def post(*headers: tuple[str, str]) -> tuple[int, int | None]:
            accepted = ("Accept", "application/json, text/event-stream")
            answer = await http.post(url, json=body, headers=[accepted, *headers])
            told = answer.json() if answer.status_code != 200 else {}
            return answer.status_code, told.get("error", {}).get("code")

        assert await post(*right) == (200, None)
        mismatch = (400, -32020)
        assert await post(*right[:2], ("Mcp-Name", "execute_code")) == mismatch
        assert await post(*right[:2]) == mismatch, "without a name"
        assert await post(right[0], ("Mcp-Method", "tools/list"), right[2]) == mismatch
        assert await post(right[0], right[2]) == mismatch, "without a method"
        assert await post(*right, ("Mcp-Name", "list_servers")) == mismatch, "twice"
        assert await post(*right[:2], ("Mcp-Name", "=?base64?bGlzdF9zZXJ2ZXJz?=")) == (200, None)
