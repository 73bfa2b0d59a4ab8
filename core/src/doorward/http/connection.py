"""One connection of HTTP/1.1, over asyncio, which carries one exchange at a time."""

from __future__ import annotations

import asyncio
import select
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial

import httpx2

from doorward.http.message import MAX_HEAD_BYTES, Incoming, Outgoing

_PIECE_BYTES = 2**16
"""How much of a request is handed to the system at once."""
_MAX_UNREAD_BYTES = 2**18
"""How much of an answer is received before somebody reads it."""

Timeouts = Mapping[str, float | None]
"""Seconds, as of httpx2: `pool` for a free connection, `connect`, `write` and `read` for each step. What is missing, or
`None`, takes as long as it takes."""


class Http1Connection(asyncio.Protocol):
    """Tells `over` at the end of each exchange, with whether the connection can carry another. What comes while nobody
    has asked for anything ends the connection: it could be taken for the answer to the next request."""

    def __init__(self, loop: asyncio.AbstractEventLoop, over: Callable[[Http1Connection, bool], None]) -> None:
        self._loop, self._over = loop, over
        self._transport: asyncio.Transport | None = None
        self._watch: Callable[[], object] = bool
        """Whether there is something to be read that the event loop has not seen yet."""
        self._incoming: Incoming | None = None
        """The answer of the exchange under way."""
        self._sent = False
        """Whether the request of that exchange is sent to its end."""
        self._writable, self._paused = True, False
        self._idle_bytes = 0
        """Bytes that came without an end of the head, or without content after it."""
        self.closed = False

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._watch = _watching(transport.get_extra_info("socket").fileno())

    def eof_received(self) -> None:
        self.closed = True  # asyncio tells the rest a turn of the loop later; nobody shall use it until then

    def connection_lost(self, error: Exception | None) -> None:
        self.closed, self._writable = True, True
        incoming = self._incoming
        if incoming is not None and not incoming.whole and not (error is None and incoming.end()):
            hung_up = httpx2.RemoteProtocolError("the server hung up before its answer was whole")
            incoming.fail(httpx2.ReadError(str(error)) if error else hung_up)
        self._finish()
        if incoming is not None:
            incoming.wake()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        if self._incoming is not None:
            self._incoming.wake()

    def data_received(self, data: bytes) -> None:
        incoming = self._incoming
        if incoming is None:
            self.close()
            return
        had = incoming.unread
        incoming.feed(data)
        self._idle_bytes = 0 if incoming.unread > had else self._idle_bytes + len(data)
        if self._idle_bytes > MAX_HEAD_BYTES and not incoming.whole:
            incoming.fault = "its head, or what is neither head nor content, does not end"
        if incoming.fault:
            incoming.fail(httpx2.RemoteProtocolError(incoming.fault))
            self.close()
        elif incoming.whole:
            self._finish()
        elif incoming.unread > _MAX_UNREAD_BYTES and not self._paused and self._transport:
            self._paused = True
            self._transport.pause_reading()
        incoming.wake()

    # What the pool and the readers of answers ask

    def close(self) -> None:
        """Close the connection, whatever is under way. What is not sent yet is dropped."""
        self.closed = True
        if self._incoming is not None and not self._incoming.whole:
            self._incoming.fail(httpx2.ReadError("the connection was closed before the answer was whole"))
            self._incoming.wake()
        if self._transport is not None:
            self._transport.abort()
        self._finish()

    def went_silent(self) -> bool:
        """Whether the server may have ended an idle connection, with the news still waiting to be read."""
        if self.closed or self._transport is None or self._transport.is_closing():
            return True
        return bool(self._watch())

    async def exchange(self, request: Outgoing, timeouts: Timeouts) -> Incoming:
        """Send a request. Returns: the answer as soon as its head is there.

        Raises: httpx2.TransportError. Then, and if it is cancelled, the connection is closed.
        """
        incoming = self._incoming = Incoming(request.method)
        self._sent, self._idle_bytes = False, 0
        try:
            await self._send(request, incoming, timeouts.get("write"))
            while not incoming.has_head:
                await self._changed(incoming, timeouts.get("read"), httpx2.ReadTimeout)
        except BaseException:
            self.drop(incoming)
            raise
        return incoming

    async def read(self, incoming: Incoming, seconds: float | None) -> bytes:
        """What has come of the content; b"" at its end. Raises: as `exchange`."""
        while not incoming.parts:
            if incoming.whole:
                return b""
            try:
                await self._changed(incoming, seconds, httpx2.ReadTimeout)
            except BaseException:
                self.drop(incoming)
                raise
        got = incoming.parts[0] if len(incoming.parts) == 1 else b"".join(incoming.parts)
        incoming.parts.clear()
        incoming.unread = 0
        if self._incoming is incoming:
            self._resume()
        return got

    def drop(self, incoming: Incoming) -> None:
        """Nobody wants the rest of an answer. A connection with a rest cannot carry another exchange."""
        if self._incoming is incoming:
            self.close()

    # How

    async def _send(self, request: Outgoing, incoming: Incoming, seconds: float | None) -> None:
        """Send a request to its end; or until the server has answered with an error, and wants no more of it."""
        if self.closed or self._transport is None:
            raise httpx2.RemoteProtocolError("the server hung up before it was asked")
        head, content = request.head(), request.content
        if isinstance(content, bytes) and len(content) <= _PIECE_BYTES and request.length is not None:
            self._transport.write(head + content)
        else:
            self._transport.write(head)
            async with aclosing(_pieces(request)) as pieces:
                async for piece in pieces:
                    while not self._writable and incoming.status < 400:
                        await self._changed(incoming, seconds, httpx2.WriteTimeout)
                    if incoming.status >= 400 or self.closed:
                        incoming.keeps = False
                        break
                    self._transport.write(piece)
        self._sent = True
        if incoming.whole:
            self._finish()

    async def _changed(self, incoming: Incoming, seconds: float | None, late: type[httpx2.TransportError]) -> None:
        """Wait until something has come, or gone. Raises: the error that ended the exchange."""
        if incoming.error is None:
            waiter = incoming.waiter = self._loop.create_future()
            timer = None if seconds is None else self._loop.call_later(seconds, _expire, waiter, late)
            try:
                await waiter
            finally:
                incoming.waiter = None
                if timer is not None:
                    timer.cancel()
        if incoming.error is not None:
            raise incoming.error

    def _resume(self) -> None:
        if self._paused and self._transport:
            self._paused = False
            self._transport.resume_reading()

    def _finish(self) -> None:
        """End the exchange under way, if it is over."""
        incoming = self._incoming
        if incoming is None or not (self.closed or (incoming.whole and self._sent)):
            return
        self._incoming = None
        if not (self.closed or incoming.keeps):
            self.closed = True
            if self._transport is not None:  # no orderly end of TLS, for which a server could let us wait
                self._transport.abort()
        self._resume()
        self._over(self, not self.closed)


async def _pieces(request: Outgoing) -> AsyncGenerator[bytes, None]:
    """The content as it is sent. Raises: httpx2.LocalProtocolError if it has another length than was said."""
    left = request.length
    async for part in _slices(request.content) if isinstance(request.content, bytes) else request.content:
        if left is None and part:  # an empty chunk would be the end
            yield b"%x\r\n%b\r\n" % (len(part), part)
        elif left is not None:
            if (left := left - len(part)) < 0:
                break
            yield part
    if left is None:
        yield b"0\r\n\r\n"
    elif left:
        raise httpx2.LocalProtocolError("the content has not the length that its header says")


async def _slices(content: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(content), _PIECE_BYTES):
        yield content[start : start + _PIECE_BYTES]


def _watching(number: int) -> Callable[[], object]:
    if sys.platform == "win32":
        return lambda: select.select([number], [], [], 0)[0]
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return partial(waiting.poll, 0)


def _expire(waiter: asyncio.Future[None], late: type[httpx2.TransportError]) -> None:
    if not waiter.done():
        waiter.set_exception(late("it took too long"))
