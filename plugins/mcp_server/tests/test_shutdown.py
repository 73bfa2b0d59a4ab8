"""The end of a server waits for the answers of the calls that are under way."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import mcp_types as t
import pytest
from doorward_mcp_server.shutdown import Shutdown
from mcp.shared.message import SessionMessage

pytestmark = pytest.mark.anyio


class Wire:
    """A client's end of a stream: what has been written to it."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    async def send(self, item: Any) -> None:
        self.written.append(item)


def a_call(request: int) -> Any:
    return SimpleNamespace(request_id=request, method="tools/call")


async def test_a_call_is_under_way_until_its_answer_is_written() -> None:
    """Over stdio what was not written when the server ends is lost: a run that is suspended then, and its id."""
    shutdown, wire = Shutdown(), Wire()
    stream = shutdown.writes_to(wire)

    async def ends(ctx: Any) -> str:
        return "waiting"

    assert await shutdown(a_call(7), ends) == "waiting"
    waiting = asyncio.ensure_future(shutdown.answered(60))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    await stream.send(SessionMessage(t.JSONRPCNotification(jsonrpc="2.0", method="notifications/message")))
    await asyncio.sleep(0)
    assert not waiting.done()
    await stream.send(SessionMessage(t.JSONRPCResponse(jsonrpc="2.0", id=7, result={})))
    await waiting
    assert len(wire.written) == 2


async def test_a_call_that_was_cancelled_gets_no_answer() -> None:
    shutdown = Shutdown()
    shutdown.writes_to(Wire())

    async def goes_on(ctx: Any) -> None:
        await asyncio.Event().wait()

    calling = asyncio.ensure_future(shutdown(a_call(1), goes_on))
    await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait([calling])
    await shutdown.answered(60)
