"""Carries TCP connections over one pair of streams, between a container without a network and the gateway.

Both ends run this file: the gateway imports it, and in the container it is the text of `python3 -c`. So it imports
nothing but the standard library, and works in Python 3.9.

A frame is the number of a connection, a kind, and a value: the place that is wanted (`OPEN`), the length of the bytes
that follow (`DATA`), or how many bytes were taken (`TAKEN`). Neither end sends more than a window of bytes that the
other one has not taken. The container opens connections by the place's index alone: it can name no host.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import sys
from collections.abc import Awaitable
from typing import Any, Callable, Dict, List, Optional, Tuple  # noqa: UP035 - this file runs in Python 3.9 too

HEAD = struct.Struct(">IBI")
OPEN, DATA, END, CLOSE, TAKEN, READY = range(1, 7)
WINDOW_BYTES = 2**18
PIECE_BYTES = 2**15
MAX_CONNECTIONS = 128


class Broken(Exception):
    """The other end does not speak as it should."""


class _Carried:
    """One connection."""

    def __init__(self, task: asyncio.Future[Any]) -> None:
        self.task = task
        self.credit = WINDOW_BYTES
        self.more = asyncio.Event()
        self.inbox: asyncio.Queue[Optional[bytes]] = asyncio.Queue()  # noqa: UP045
        self.unread = 0
        self.ended = False


class Carrier:
    """One end. `connect` opens a connection to a place for the other end; without it, the other end opens none."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connect: Optional[Callable[[int], Awaitable[Tuple[asyncio.StreamReader, asyncio.StreamWriter]]]] = None,  # noqa: UP006, UP045
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._connect = connect
        self._carried: Dict[int, _Carried] = {}  # noqa: UP006
        self._last = 0
        self._turn = asyncio.Lock()
        self.ready = asyncio.Event()

    async def run(self) -> None:
        """Carry until the other end is gone. Raises: Broken, OSError."""
        try:
            while True:
                number, kind, value = HEAD.unpack(await self._reader.readexactly(HEAD.size))
                if kind == DATA and not 0 < value <= PIECE_BYTES:
                    raise Broken(f"a piece of {value} bytes")
                self._take(number, kind, value, await self._reader.readexactly(value) if kind == DATA else b"")
                if self._connect is not None:  # whoever does not read what it is sent is not read any more
                    async with self._turn:
                        await self._writer.drain()
        except asyncio.IncompleteReadError:
            return
        finally:
            over = [one.task for one in self._carried.values()]
            for task in over:
                task.cancel()
            await asyncio.gather(*over, return_exceptions=True)

    async def say(self, number: int, kind: int, value: int = 0, data: bytes = b"") -> None:
        """Send a frame."""
        async with self._turn:
            self._writer.write(HEAD.pack(number, kind, value) + data)
            await self._writer.drain()

    async def accepted(self, place: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a connection that was made here to a place there."""
        task = asyncio.current_task()
        if task is None or len(self._carried) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._last += 1
        number = self._last
        self._carried[number] = one = _Carried(task)
        with contextlib.suppress(asyncio.CancelledError):  # that of the other end; else it would be logged
            await self.say(number, OPEN, place)
            await self._carry(number, one, reader, writer)
        self._carried.pop(number, None)

    def _take(self, number: int, kind: int, value: int, data: bytes) -> None:
        if kind == READY:
            self.ready.set()
            return
        if kind == OPEN:
            if self._connect is None or number <= self._last:
                raise Broken(f"connection {number} was opened out of turn")
            self._last = number
            if len(self._carried) >= MAX_CONNECTIONS:
                self._writer.write(HEAD.pack(number, CLOSE, 0))
                return
            task = asyncio.ensure_future(self._open(number, value))
            self._carried[number] = _Carried(task)
            return
        one = self._carried.get(number)
        if one is None:  # it is over here, and the other end does not know yet
            return
        if kind == DATA:
            one.unread += len(data)
            if one.ended or one.unread > WINDOW_BYTES:
                raise Broken("it sends more than it may")
            one.inbox.put_nowait(data)
        elif kind == END:
            if one.ended:
                raise Broken("a second end")
            one.ended = True
            one.inbox.put_nowait(None)
        elif kind == TAKEN:
            one.credit += value
            if one.credit > WINDOW_BYTES:
                raise Broken("it has taken more than it was sent")
            one.more.set()
        elif kind == CLOSE:
            one.task.cancel()
        else:
            raise Broken(f"a frame of kind {kind}")

    async def _open(self, number: int, place: int) -> None:
        assert self._connect is not None
        one = self._carried[number]
        try:
            await self._carry(number, one, *await self._connect(place))
        except OSError:
            self._writer.write(HEAD.pack(number, CLOSE, 0))
        finally:
            self._carried.pop(number, None)

    async def _carry(
        self, number: int, one: _Carried, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        ways = [
            asyncio.ensure_future(self._outward(number, one, reader)),
            asyncio.ensure_future(self._inward(number, one, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            self._writer.write(HEAD.pack(number, CLOSE, 0))

    async def _outward(self, number: int, one: _Carried, reader: asyncio.StreamReader) -> None:
        while True:
            while one.credit <= 0:
                one.more.clear()
                await one.more.wait()
            data = await reader.read(min(PIECE_BYTES, one.credit))
            if not data:
                await self.say(number, END)
                return
            one.credit -= len(data)
            await self.say(number, DATA, len(data), data)

    async def _inward(self, number: int, one: _Carried, writer: asyncio.StreamWriter) -> None:
        while True:
            data = await one.inbox.get()
            if data is None:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()
            one.unread -= len(data)
            await self.say(number, TAKEN, len(data))


async def main(places: List[Tuple[str, int]]) -> None:  # noqa: UP006
    """In the container: listen at these addresses, and carry what comes over standard input and output."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout.buffer)
    carrier = Carrier(reader, asyncio.StreamWriter(transport, protocol, None, loop))

    def listener(place: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        return lambda reader, writer: carrier.accepted(place, reader, writer)

    for place, (address, port) in enumerate(places):
        await asyncio.start_server(listener(place), address, port)
    await carrier.say(0, READY)
    await carrier.run()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
