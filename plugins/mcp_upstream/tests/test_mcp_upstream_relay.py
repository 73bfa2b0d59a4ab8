"""What carries the connections of a container: the other end is not trusted, and is bounded in all that it sends."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from doorward_mcp_upstream.connections import egress
from doorward_mcp_upstream.connections.container_settings import place
from doorward_mcp_upstream.connections.egress import Egress
from doorward_mcp_upstream.connections.relay import (
    CLOSE,
    DATA,
    END,
    HEAD,
    MAX_CONNECTIONS,
    OPEN,
    PIECE_BYTES,
    TAKEN,
    WINDOW_BYTES,
    Broken,
    Carrier,
)
from doorward_mcp_upstream.connections.stderr import StderrLog

pytestmark = pytest.mark.anyio

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def pair() -> AsyncIterator[tuple[Streams, Streams]]:
    one, other = socket.socketpair()
    streams = await asyncio.open_connection(sock=one), await asyncio.open_connection(sock=other)
    try:
        yield streams
    finally:
        for _, writer in streams:
            writer.close()


def frame(number: int, kind: int, value: int = 0, data: bytes = b"") -> bytes:
    return HEAD.pack(number, kind, value) + data


PIECE = frame(1, DATA, PIECE_BYTES, b"x" * PIECE_BYTES)


@pytest.mark.parametrize(
    "sent",
    [
        frame(1, OPEN) * 2,
        frame(2, OPEN) + frame(1, OPEN),
        frame(1, OPEN) + PIECE * (WINDOW_BYTES // PIECE_BYTES + 1),
        frame(1, OPEN) + frame(1, END) * 2,
        frame(1, OPEN) + frame(1, END) + PIECE,
        frame(1, OPEN) + frame(1, TAKEN, 1),
        frame(1, OPEN) + frame(1, 99),
        frame(1, DATA, 2**32 - 1),
        frame(1, DATA, 0),
    ],
    ids=["twice", "backwards", "too much", "two ends", "after the end", "not sent", "no kind", "vast", "empty"],
)
async def test_a_hostile_end(sent: bytes) -> None:
    """What breaks the protocol ends all connections at once."""
    async with pair() as ((reader, writer), (_, theirs)):
        waiting = asyncio.Event()

        async def connect(place: int) -> Streams:
            await waiting.wait()
            raise OSError

        theirs.write(sent)
        with pytest.raises(Broken):
            await Carrier(reader, writer, connect).run()


async def test_places_are_all_that_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to no place, to one with a private address, or beyond the bound is refused; the others go on."""

    async def resolved(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "10.0.0.1"]

    monkeypatch.setattr(egress, "resolved", resolved)
    log = StderrLog(tmp_path / "log", str)
    allowed = Egress([("api.example.com", 443)], log, private=False)
    async with pair() as ((reader, writer), (heard, theirs)):
        running = asyncio.ensure_future(Carrier(reader, writer, allowed.connect).run())
        theirs.write(frame(1, OPEN, 0) + frame(2, OPEN, 7))
        closed = {HEAD.unpack(await heard.readexactly(HEAD.size))[:2] for _ in range(2)}
        theirs.close()
        await running
    assert closed == {(1, CLOSE), (2, CLOSE)}
    assert "api.example.com:443: it has a private or reserved address" in log.tail()

    async with pair() as ((reader, writer), (heard, theirs)):
        waiting: list[int] = []

        async def connect(place: int) -> Streams:
            waiting.append(place)
            await asyncio.Event().wait()
            raise OSError

        running = asyncio.ensure_future(Carrier(reader, writer, connect).run())
        theirs.write(b"".join(frame(number, OPEN, 0) for number in range(1, MAX_CONNECTIONS + 11)))
        over = [HEAD.unpack(await heard.readexactly(HEAD.size))[0] for _ in range(10)]
        assert over == [*range(MAX_CONNECTIONS + 1, MAX_CONNECTIONS + 11)]
        assert len(waiting) == MAX_CONNECTIONS
        theirs.close()
        await running


async def test_the_gateway_opens_nothing_in_a_container() -> None:
    """The end in the container takes no connection from the other one."""
    async with pair() as ((reader, writer), (_, theirs)):
        theirs.write(frame(1, OPEN))
        with pytest.raises(Broken):
            await Carrier(reader, writer).run()


async def test_bytes_both_ways() -> None:
    """What is sent arrives whole, is answered after its end, and a slow reader holds up nobody else."""
    async with pair() as (ours, theirs), pair() as (mine, peer), pair() as (_, stuck):
        given = iter([peer, stuck])

        async def connect(place: int) -> Streams:
            return next(given)

        gateway = asyncio.ensure_future(Carrier(*ours, connect).run())
        there = Carrier(*theirs)
        inside = asyncio.ensure_future(there.run())

        async with pair() as (program, accepted), pair() as (flooding, other):
            first = asyncio.ensure_future(there.accepted(0, *accepted))
            program[1].write(b"a" * 2**20)
            program[1].write_eof()
            second: asyncio.Future[Any] = asyncio.ensure_future(there.accepted(0, *other))
            flooding[1].write(b"b" * 2**22)  # the other side does not read it
            assert len(await mine[0].read()) == 2**20
            mine[1].write(b"answer")
            mine[1].close()
            assert await program[0].read() == b"answer"
            await first
            second.cancel()
            await second
        for task in (inside, gateway):
            task.cancel()
        await asyncio.gather(inside, gateway, return_exceptions=True)


@pytest.mark.parametrize("text", ["a.example", "a.example:0", "a.example:99999", "10.0.0.1:443", "127.1:80", "[::1]:1",
    "localhost:80", "x.localhost:80", "*.example.com:443", "a b:1", "a.example:443\n", "-a:1", "a:443:443"])  # fmt: skip
def test_no_places(text: str) -> None:
    """One host by its name, and one port; no address, no wildcard, not the container itself."""
    with pytest.raises(ValueError, match=r"HOST:PORT|address|itself"):
        place(text)
    assert place("API.example.com:443") == ("api.example.com", 443)
