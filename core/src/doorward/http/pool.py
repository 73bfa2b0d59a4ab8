"""Connections of HTTP/1.1 that are kept for the next exchange, and how they are made."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import httpx2

from doorward.http.connection import Http1Connection, Timeouts
from doorward.http.destinations import Destinations, first_connected
from doorward.http.message import Incoming, Outgoing

T = TypeVar("T")

MAX_CONNECTIONS = 100
MAX_IDLE_CONNECTIONS = 20
"""Idle connections that are kept."""
MAX_IDLE_SECONDS = 20.0
"""Seconds for which an idle connection is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """Where connections lead. Two of them are never the same."""

    scheme: str
    host: str
    port: int
    socket: str | None = None
    """The path of a Unix socket."""


class Http1Pool:
    """Connections of one event loop, to any number of endpoints."""

    def __init__(self, destinations: Destinations) -> None:
        self.loop = asyncio.get_running_loop()
        self._destinations = destinations
        self._idle: list[tuple[float, Endpoint, Http1Connection]] = []
        """Since when, where to; the one that was used last is the last."""
        self._busy: dict[Http1Connection, Endpoint] = {}
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._tls: ssl.SSLContext | None = None

    async def exchange(
        self, endpoint: Endpoint, request: Outgoing, timeouts: Timeouts
    ) -> tuple[Http1Connection, Incoming]:
        """Send a request over a connection that is free. Returns: the connection, and the answer as soon as its head is
        there.

        Raises: httpx2.TransportError; what `destinations` raises.
        """
        if self._slots.locked():
            await _in_time(self._slots.acquire(), timeouts.get("pool"), httpx2.PoolTimeout)
        else:
            await self._slots.acquire()
        try:
            connection = self._taken(endpoint) or await self._made(endpoint, timeouts.get("connect"))
        except BaseException:
            self._slots.release()
            raise
        self._busy[connection] = endpoint
        return connection, await connection.exchange(request, timeouts)

    def close(self) -> None:
        """Close all connections, whatever is under way."""
        for connection in [*(each for *_, each in self._idle), *self._busy]:
            connection.close()
        self._idle.clear()

    def _over(self, connection: Http1Connection, reusable: bool) -> None:
        endpoint = self._busy.pop(connection)
        if reusable:
            now = self.loop.time()
            self._idle.append((now, endpoint, connection))
            self._trim(MAX_IDLE_CONNECTIONS, now)
        self._slots.release()

    def _trim(self, most: int, now: float) -> None:
        """Close what is idle for too long, and the oldest ones beyond `most`."""
        while self._idle and (self._idle[0][0] < now - MAX_IDLE_SECONDS or len(self._idle) > most):
            self._idle.pop(0)[2].close()

    def _taken(self, endpoint: Endpoint) -> Http1Connection | None:
        """An idle connection; the one that was used last is the likeliest to be there still."""
        now = self.loop.time()
        self._trim(MAX_IDLE_CONNECTIONS, now)
        for at in range(len(self._idle) - 1, -1, -1):
            _, where, connection = self._idle[at]
            if connection.closed:
                del self._idle[at]
            elif where is endpoint:
                del self._idle[at]
                if not connection.went_silent():
                    return connection
                connection.close()
        return None

    async def _made(self, endpoint: Endpoint, seconds: float | None) -> Http1Connection:
        self._trim(max(0, MAX_CONNECTIONS - len(self._busy) - 1), self.loop.time())
        try:
            return await _in_time(self._connected(endpoint), seconds, httpx2.ConnectTimeout)
        except OSError as error:
            number = None if isinstance(error, ssl.SSLError) else error.errno
            raise httpx2.ConnectError(str(error) if number is None else os.strerror(number)) from error

    async def _connected(self, endpoint: Endpoint) -> Http1Connection:
        tls, name = None, None
        if endpoint.scheme == "https":
            tls, name = self._tls_context(), endpoint.host
        if endpoint.socket is not None:
            path = endpoint.socket
            return (await self.loop.create_unix_connection(self._connection, path, ssl=tls, server_hostname=name))[1]
        try:
            addresses = await self._destinations.addresses(endpoint.host, endpoint.port)
        except OSError as error:
            raise httpx2.ConnectError(f"the name cannot be resolved: {error}") from error
        port = endpoint.port
        found = await first_connected(addresses, lambda address: _tcp(self.loop, address, port), _close, OSError)
        try:
            return (await self.loop.create_connection(self._connection, sock=found, ssl=tls, server_hostname=name))[1]
        except BaseException:
            found.close()
            raise

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            import httpcore2

            self._tls = httpcore2.default_ssl_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _connection(self) -> Http1Connection:
        return Http1Connection(self.loop, self._over)


async def _in_time(work: Awaitable[T], seconds: float | None, late: type[httpx2.TimeoutException]) -> T:
    """Raises: `late` if it takes longer."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise late("it took too long") from None


async def _tcp(loop: asyncio.AbstractEventLoop, address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        made.setblocking(False)
        await loop.sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


async def _close(sockets: Sequence[socket.socket]) -> None:
    for each in sockets:
        each.close()
