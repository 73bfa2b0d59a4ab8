"""Connections of httpcore2: to checked addresses only, bounded in what they receive, and not used if more has come."""

from __future__ import annotations

import asyncio
import os
import select
import ssl
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

import httpcore2

from doorward_http.destinations import Destinations, first_connected

T = TypeVar("T")

MAX_BYTES_WITHOUT_CONTENT = 192 * 2**10
"""How much may be received over HTTP/1.1 without any content of an answer in it: heads, what a server says before them
(1xx), extensions of chunks, trailers."""
MAX_UNREAD_BYTES = 2**18
"""How much of an answer is received before it is read."""


@dataclass(slots=True, eq=False)
class Origin:
    """Where connections lead. Two of them are never the same."""

    scheme: str
    host: bytes
    port: int
    named: bytes
    """Its `Host` header."""
    proxy: str | None
    speaks_http1: bool = False
    """Whether it could choose, and took HTTP/1.1."""


class Connection(httpcore2.AsyncHTTPConnection):
    """A connection of httpcore2, by TCP or to a Unix `socket`; over HTTP/1.1 or HTTP/2, as the server chooses."""

    def __init__(
        self, origin: Origin, network: Network, *, tls: ssl.SSLContext | None, http2: bool, socket: str | None
    ) -> None:
        super().__init__(
            httpcore2.Origin(origin.scheme.encode(), origin.host, origin.port),
            ssl_context=tls,
            http2=http2,
            uds=socket,
            network_backend=network,
        )
        self.origin = origin
        self.exchanges = 0
        """Those under way: HTTP/2 carries several."""
        self.idle_since = 0.0

    def has_expired(self) -> bool:
        """Also if more has come than the answer to the last request: the rest would be taken for the next answer. The
        library has no public way to ask for that: if it hides it elsewhere one day, connections carry one exchange
        each, which a test would notice."""
        if super().has_expired():
            return True
        connection = getattr(self, "_connection", None)
        if isinstance(connection, httpcore2.AsyncHTTP2Connection):
            return False
        parser = getattr(connection, "_h11_state", None)
        return parser is None or parser.trailing_data != (b"", False)


class Network(httpcore2.AsyncNetworkBackend):
    """Makes connections: over TCP to the very addresses that were checked, whatever a name server says next."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> Stream:
        async def connect(address: str) -> Stream:
            return (await asyncio.get_running_loop().create_connection(Stream, address, port))[1]

        async def connect_to_any() -> Stream:
            try:
                addresses = await self._destinations.addresses(host, port)
            except OSError as error:
                raise httpcore2.ConnectError(f"the name cannot be resolved: {error}") from error
            return await first_connected(addresses, connect, _close, OSError)

        return await connected(connect_to_any(), timeout)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None
    ) -> Stream:
        _, stream = await connected(asyncio.get_running_loop().create_unix_connection(Stream, path), timeout)
        return stream

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """The bytes of one connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._poll: Callable[[], object] = bool
        """Whether there is something to be read that the event loop has not seen yet."""
        self._received: deque[bytes] = deque()
        self._unread = 0
        """Bytes in `_received`."""
        self._waiting: set[asyncio.Future[None]] = set()
        self._writable, self._paused = True, False
        self._ended = self._closed = False
        """Ended: nothing more comes. Closed: by us."""
        self._error: Exception | None = None
        self._counts = True
        """Whether what comes without content is bounded here: HTTP/2 has bounds of its own."""
        self.without_content = 0
        """Bytes that were read since the last content of an answer."""
        self.spent = False
        """Whether the connection may carry no other exchange."""

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._poll = _poll(transport.get_extra_info("socket").fileno())

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._unread += len(data)
        if self._unread > MAX_UNREAD_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended, self._error = True, error
        self._wake()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._wake()

    # What httpcore2 calls

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come, once there is something; b"" at the end."""
        while not self._received:
            if self._closed or self._error is not None:
                raise httpcore2.ReadError(str(self._error or "the connection was closed"))
            if self._ended:
                return b""
            await self._changed(timeout, httpcore2.ReadTimeout)
        got = self._received.popleft()
        if len(got) > max_bytes:
            self._received.appendleft(got[max_bytes:])
            got = got[:max_bytes]
        self._unread -= len(got)
        if self._paused and self._unread <= MAX_UNREAD_BYTES and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        self.without_content += len(got)
        if self._counts and self.without_content > MAX_BYTES_WITHOUT_CONTENT:
            raise httpcore2.RemoteProtocolError(
                "the head of an answer, or what is neither head nor content, does not end"
            )
        return got

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Hand bytes to the system; no more than it takes, or until the server has answered with an error: then
        httpcore2 sends no more, and reads that answer."""
        if self._ended or self._transport is None:
            raise httpcore2.WriteError("the server hung up")
        self.without_content = 0
        if buffer:
            self._transport.write(buffer)
        while not self._writable:
            if self._ended or self._is_refused():
                raise httpcore2.WriteError("the server wants no more of the request")
            await self._changed(timeout, httpcore2.WriteTimeout)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> Stream:
        loop, transport = asyncio.get_running_loop(), self._transport
        assert transport is not None
        try:
            work = loop.start_tls(transport, self, ssl_context, server_hostname=server_hostname)
            self._transport = cast(asyncio.Transport, await connected(work, timeout))
            if self._received or self._ended:
                raise httpcore2.ConnectError("the server sent something before the connection was secured")
        except BaseException:
            transport.abort()
            raise
        chosen = self._transport.get_extra_info("ssl_object").selected_alpn_protocol()
        self._counts = chosen != "h2"
        return self

    async def aclose(self) -> None:
        self._closed = self._ended = True
        if self._transport is not None:  # no orderly end of TLS, for which a server could let us wait
            self._transport.abort()
        self._wake()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # so httpcore2 asks whether an idle connection has ended
            return self.spent or self._ended or bool(self._received) or bool(self._poll())
        return None if self._transport is None else self._transport.get_extra_info(info)

    def _is_refused(self) -> bool:
        """Whether what has come is an answer of HTTP/1.1 that begins with an error."""
        start = self._received[0][:10] if self._received else b""
        return start[:7] == b"HTTP/1." and start[9:] in (b"4", b"5")

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def _changed(self, seconds: float | None, late: type[Exception]) -> None:
        """Wait for anything to happen to the connection. Raises: `late`."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _expire, waiter, late)
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)
            if timer is not None:
                timer.cancel()


def _expire(waiter: asyncio.Future[None], late: type[Exception]) -> None:
    if not waiter.done():
        waiter.set_exception(late("it took too long"))


async def connected(work: Awaitable[T], seconds: float | None) -> T:
    """Raises: httpcore2.ConnectTimeout, httpcore2.ConnectError."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except OSError as error:
        if isinstance(error, TimeoutError) and limit.expired():
            raise httpcore2.ConnectTimeout("it took too long") from None
        number = None if isinstance(error, ssl.SSLError) else error.errno
        raise httpcore2.ConnectError(str(error) if number is None else os.strerror(number)) from error


async def _close(streams: Sequence[Stream]) -> None:
    for stream in streams:
        await stream.aclose()


def _poll(number: int) -> Callable[[], object]:
    if sys.platform == "win32":
        return lambda: select.select([number], [], [], 0)[0]
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return partial(waiting.poll, 0)
