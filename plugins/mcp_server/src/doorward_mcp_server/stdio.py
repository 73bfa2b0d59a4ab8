"""MCP over our standard input and output, with asyncio pipes: one line is one message, and there are no threads.

The SDK's own transport takes every line through a thread, which doubles the latency of a small call. While we
serve, descriptor 0 is the null device and descriptor 1 is standard error, so that nothing else can reach the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import mcp_types
from anyio.abc import AsyncResource, ObjectReceiveStream
from doorward import Principal
from doorward.serving import PRINCIPAL
from mcp.shared.message import ServerMessageMetadata, SessionMessage

MAX_MESSAGE_BYTES = 64 * 2**20
"""Largest message."""


@contextlib.asynccontextmanager
async def streams() -> AsyncIterator[tuple[Any, Any]]:
    """The read and the write stream of the session; the SDK's own where pipes cannot be polled."""
    if sys.platform == "win32" or not (_pollable(0) and _pollable(1)):
        from mcp.server.stdio import stdio_server

        async with stdio_server() as both:
            yield both
        return
    sys.stdout.flush()
    wire_in, wire_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
    incoming, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(wire_in, "rb", 0)
    )
    outgoing, flow = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(wire_out, "wb", 0)
    )
    try:
        yield _Incoming(reader), _Outgoing(asyncio.StreamWriter(outgoing, flow, None, loop))
    finally:
        incoming.close()
        outgoing.close()


def _pollable(descriptor: int) -> bool:
    """Whether the event loop can wait for it: for pipes, sockets and terminals,
    but not for files or the null device."""
    import selectors
    import stat

    try:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
        return not stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (OSError, ValueError):
        return False


class _Stream(AsyncResource):
    async def aclose(self) -> None:
        """Do nothing: `streams` closes it."""


class _Read(_Stream, ObjectReceiveStream["SessionMessage | Exception"]):
    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises: anyio.EndOfStream."""
        raise anyio.EndOfStream


class _Incoming(_Read):
    """Messages of the client. A line that is no message is given as an exception; blank lines are skipped."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                line = await self._reader.readline()
            except ValueError as error:  # longer than MAX_MESSAGE_BYTES: what follows cannot be trusted to be a message
                raise anyio.EndOfStream from error
            if not line:
                raise anyio.EndOfStream
            if line.strip():
                break
        try:
            return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            return error


class ByEndpoint(_Read):
    """Messages of a client that has come by an endpoint: each says so, as a request over HTTP does."""

    def __init__(self, stream: Any, principal: Principal) -> None:
        self._stream = stream
        self.scope = {PRINCIPAL: principal}

    async def receive(self) -> SessionMessage | Exception:
        found: SessionMessage | Exception = await self._stream.receive()
        if isinstance(found, SessionMessage):
            found.metadata = ServerMessageMetadata(request_context=self)
        return found


class _Outgoing(_Stream):
    """Messages to the client. That a client is gone is noticed when reading."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, item: SessionMessage) -> None:
        self._writer.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()
