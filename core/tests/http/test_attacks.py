"""The HTTP engine against servers that mean harm, or end their connections without a word."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from doorward import HttpEngine
from doorward.http import pool as http_pool

from .test_engine import OK, Anywhere, get, serving

pytestmark = pytest.mark.anyio


async def test_a_connection_that_ended_with_the_last_answer_carries_no_other_request(monkeypatch: Any) -> None:
    """A server may hang up after each answer without a word: a POST that follows at once is not lost with it."""
    theirs: list[socket.socket] = []

    async def connected(self: Any, endpoint: Any) -> Any:
        ours, other = socket.socketpair()
        theirs.append(other)
        other.sendall(OK)
        other.shutdown(socket.SHUT_WR)
        return (await self.loop.create_connection(self._connection, sock=ours))[1]

    monkeypatch.setattr(http_pool.Http1Pool, "_connected", connected)
    engine = HttpEngine(Anywhere())
    for _ in range(5):
        assert await get(engine, "http://a/", "POST", content=b"x") == (200, b"ok")
    assert len(theirs) == 5
    for each in theirs:
        each.close()


async def test_a_scheme_may_be_written_in_capitals() -> None:
    """As a server may write it that redirects."""
    async with serving(OK) as (_, engine, url):
        assert await get(engine, url.replace("http", "HTTP")) == (200, b"ok")
