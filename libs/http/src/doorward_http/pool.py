"""Connections that are kept for the next exchange. The pool of httpcore2 would do, but costs a quarter of a request."""

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
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)

    async def send(self, origin: Origin, request: httpcore2.Request) -> tuple[httpcore2.Response, Connection]:
        """The answer as soon as its head is there, and the connection over which it comes: `release` that at its end.

        Raises: what httpcore2 raises, and destinations.
        """
        await self._take_slot(request.extensions["timeout"].get("pool"))
        while True:
            connection = await self._free(origin) or await self._new(origin)
            connection.exchanges += 1
            try:
                answer = await connection.handle_async_request(request)
            except httpcore2.ConnectionNotAvailable:  # nothing was sent: another exchange was first
                origin.speaks_http1 = True
                await self._leave(connection)
            except BaseException:
                await self.release(connection)
                raise
            else:
                origin.speaks_http1 = not connection.can_multiplex()
                return answer, connection

    async def release(self, connection: Connection) -> None:
        """An exchange over a connection is over."""
        self._slots.release()
        await self._leave(connection)

    async def aclose(self) -> None:
        """Close all connections, whatever is under way."""
        closing, self._open = self._open, []
        for connection in closing:
            await connection.aclose()

    async def _take_slot(self, seconds: float | None) -> None:
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise httpcore2.PoolTimeout("all connections are in use") from None

    async def _free(self, origin: Origin) -> Connection | None:
        """An open connection on which an exchange may begin."""
        for connection in reversed(self._open):
            if connection.origin is not origin:
                continue
            if connection.exchanges:
                if connection.is_available():  # it speaks HTTP/2, or is being made and may do so
                    return connection
            elif connection.has_expired():
                await self._close(connection)
                return await self._free(origin)
            else:
                return connection
        return None

    async def _new(self, origin: Origin) -> Connection:
        busy = sum(connection.exchanges > 0 for connection in self._open)
        await self._close_idle(max(0, MAX_CONNECTIONS - busy - 1))
        made = Connection(
            origin, self._network, tls=self._tls, http2=self._http2 and not origin.speaks_http1, socket=self._socket
        )
        self._open.append(made)
        return made

    async def _leave(self, connection: Connection) -> None:
        connection.exchanges -= 1
        if connection.exchanges or connection not in self._open:
            return
        self._open.remove(connection)
        if not connection.is_closed():
            connection.idle_since = time.monotonic()
            self._open.append(connection)
            await self._close_idle(MAX_IDLE_CONNECTIONS)

    async def _close_idle(self, most: int) -> None:
        """Close what was not used for too long, and the oldest ones beyond `most`."""
        idle = [connection for connection in self._open if not connection.exchanges]
        since = time.monotonic() - MAX_IDLE_SECONDS
        for left, connection in enumerate(reversed(idle)):
            if left >= most or connection.idle_since < since:
                await self._close(connection)

    async def _close(self, connection: Connection) -> None:
        self._open.remove(connection)
        await connection.aclose()
