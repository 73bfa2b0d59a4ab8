"""A wire between client and peer that keeps what went over it. It changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Tap:
    """For calls that are made one after another: `take` is what was sent and received since it was last asked."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sent = bytearray()
        self._received = bytearray()
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    def take(self) -> tuple[bytes, bytes]:
        taken = bytes(self._sent), bytes(self._received)
        self._sent.clear()
        self._received.clear()
        return taken

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._pass(reader, writer))
        self._tasks.add(task)
        await asyncio.wait([task])

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            there, out = await asyncio.open_connection("127.0.0.1", self._port)
            await asyncio.gather(_copy(reader, out, self._sent), _copy(there, writer, self._received))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray) -> None:
    try:
        while part := await reader.read(2**16):
            kept += part
            writer.write(part)
            await writer.drain()
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def tapped(port: int) -> AsyncIterator[Tap]:
    """A tap before a port of loopback."""
    tap = Tap(port)
    server = await asyncio.start_server(tap.serve, "127.0.0.1", 0)
    tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield tap
    finally:
        server.close()
        await tap.close()
        await server.wait_closed()
