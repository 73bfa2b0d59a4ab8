"""Connections that are kept for the next exchange. The pool of httpcore2 would do, but takes a quarter of the time of a
request."""

from __future__ import annotations

import asyncio
import time

import httpcore2

from doorward_http.connections import Connection, Network, Origin
from doorward_http.destinations import Destinations

MAX_CONNECTIONS = 100
MAX_IDLE_CONNECTIONS = 20
"""Idle connections that are kept."""
MAX_IDLE_SECONDS = 20.0
"""Seconds for which an idle connection is kept."""


class Pool:
    """Connections by TCP, or to one Unix `socket`. `http2` is for https only."""

    def __init__(self, destinations: Destinations, *, tls: bool, http2: bool, socket: str | None) -> None:
        self._network, self._http2, self._socket = Network(destinations), http2 and tls, socket
        self._tls = httpcore2.default_ssl_context() if tls else None
        self._open: list[Connection] = []
        """The one that was used last is the last."""
        self._closing: list[Connection] = []
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def send(self, origin: Origin, request: httpcore2.Request) -> tuple[httpcore2.Response, Connection]:
        """The answer as soon as its head is there, and the connection over which it comes: `release` that at its end.

        Raises: what httpcore2 raises, and destinations.
        """
        if self._slots.locked():
            await self._wait_for_slot(request.extensions["timeout"].get("pool"))
        else:
            await self._slots.acquire()
        while True:
            connection = self._free(origin) or self._new(origin)
            connection.exchanges += 1
            try:
                if self._closing:
                    await self._close()
                answer = await connection.handle_async_request(request)
            except httpcore2.ConnectionNotAvailable:  # nothing was sent: another exchange was first
                origin.speaks_http1 = not connection.can_multiplex()
                self._leave(connection)
            except BaseException:
                await self.release(connection)
                raise
            else:
                origin.speaks_http1 = not connection.can_multiplex()
                return answer, connection

    async def release(self, connection: Connection) -> None:
        """An exchange over a connection is over."""
        self._slots.release()
        self._leave(connection)
        if self._closing:
            await self._close()

    async def aclose(self) -> None:
        """Close all connections, whatever is under way."""
        self._closing += self._open
        self._open = []
        await self._close()

    async def _wait_for_slot(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise httpcore2.PoolTimeout("all connections are in use") from None

    def _free(self, origin: Origin) -> Connection | None:
        """An open connection on which an exchange may begin."""
        for connection in self._open[::-1]:
            if connection.origin is not origin:
                continue
            if connection.exchanges:
                if connection.is_available():  # it speaks HTTP/2, or is being made and may do so
                    return connection
            elif connection.has_expired():
                self._drop(connection)
            else:
                return connection
        return None

    def _new(self, origin: Origin) -> Connection:
        busy = sum(connection.exchanges > 0 for connection in self._open)
        self._drop_idle(max(0, MAX_CONNECTIONS - busy - 1))
        made = Connection(
            origin, self._network, tls=self._tls, http2=self._http2 and not origin.speaks_http1, socket=self._socket
        )
        self._open.append(made)
        return made

    def _leave(self, connection: Connection) -> None:
        connection.exchanges -= 1
        if connection.exchanges or connection not in self._open:
            return
        self._open.remove(connection)
        if not connection.is_closed():
            connection.idle_since = time.monotonic()
            self._open.append(connection)
            self._drop_idle(MAX_IDLE_CONNECTIONS)

    def _drop_idle(self, most: int) -> None:
        """Drop what was not used for too long, and the oldest ones beyond `most`."""
        idle = [connection for connection in self._open if not connection.exchanges]
        since = time.monotonic() - MAX_IDLE_SECONDS
        for left, connection in enumerate(reversed(idle)):
            if left >= most or connection.idle_since < since:
                self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._open.remove(connection)
        self._closing.append(connection)

    async def _close(self) -> None:
        """Close what was dropped."""
        while self._closing:
            await self._closing.pop().aclose()
