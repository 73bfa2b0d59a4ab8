"""HTTP connections: how many there may be, and how long a client may keep us waiting. uvicorn speaks HTTP, but it has
no such limits."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import ssl
import sys
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any

import h11
from doorward.serving import seldom
from uvicorn.protocols.http.h11_impl import H11Protocol

from doorward_mcp_server.settings import HttpSettings

POLL_SECONDS = 1.0
"""Seconds between two looks at what each connection waits for."""

STALL_SECONDS = 30.0
"""Seconds in which a client must read `MIN_READ_BYTES` of what waits for it, or all of it."""

MIN_READ_BYTES = 16 * 2**10
"""See `STALL_SECONDS`."""

CLOSE_SECONDS = 5.0
"""Seconds within which a connection must have closed."""

_DROPPED_FIRST = ("head", "body", "end")
"""What the connections wait for that are dropped first where there is no room."""

PIECE_BYTES = 16 * 2**10
"""Bytes that are parsed in one turn. Thousands of small chunks or headers hold up other clients no longer than that."""


class Connection(H11Protocol):
    """A connection that knows what it is waiting for, and since when."""

    def __init__(self, *given: Any, http: HttpSettings, **named: Any) -> None:
        super().__init__(*given, **named)
        self.lost = asyncio.Event()
        self._http = http
        self._rest, self._held = b"", False
        self._unread, self._reads = 0, 0
        self._waits: list[Any] = []
        self._since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn leaves the timer of a reset one, which holds its last request
        self._rest = b""
        self.lost.set()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = 0  # it has read much: what waits from now on is something else

    def data_received(self, data: bytes) -> None:
        waiting, self._rest = bool(self._rest), self._rest + data
        if not waiting:
            self._parse()

    def _parse(self) -> None:
        if not self._rest:  # the connection was lost meanwhile
            return
        piece, self._rest = self._rest[:PIECE_BYTES], self._rest[PIECE_BYTES:]
        super().data_received(piece)
        if self.transport.is_closing():
            self._rest = b""
        elif self._rest:
            self._held = True
            self.transport.pause_reading()
            self.loop.call_soon(self._parse)
        elif self._held:
            self._held = False
            if not self.flow.read_paused:
                self.transport.resume_reading()

    def overdue(self, now: float) -> bool:
        """Whether it has waited for its client for too long. What it waits for is only noticed when this is called."""
        *waits, most = self.look()
        if waits != self._waits:
            self._waits, self._since = waits, now
        return now - self._since > most

    def look(self) -> tuple[str, Any, float]:
        """What it waits for, which one of several in a row that is, and for how many seconds it may wait."""
        if self.transport is None:
            return "head", None, self._http.header_timeout  # the handshake of TLS
        if self.transport.is_closing():
            return "end", None, CLOSE_SECONDS
        if unread := self.transport.get_write_buffer_size():
            if not self._unread or self._unread - unread >= MIN_READ_BYTES:
                self._unread, self._reads = unread, self._reads + 1
            return "reader", self._reads, STALL_SECONDS
        self._unread = 0
        if self.conn.their_state is h11.SEND_BODY:
            return "body", self.cycle, self._http.body_timeout
        if self.conn.their_state is h11.IDLE:
            if self.cycle is None or self.conn.trailing_data[0]:
                return "head", self.cycle, self._http.header_timeout
            return "idle", self.cycle, math.inf  # uvicorn ends it
        return "work", self.cycle, math.inf


class Connections:
    """All connections. Where no more are allowed, the one that has let us wait longest makes room: a client that sends
    what it should is served, however many others do not."""

    def __init__(self, make: Callable[[], Connection], http: HttpSettings, tls: ssl.SSLContext | None) -> None:
        self._make, self._http = make, http
        self._most = min(http.connections, descriptors() // 2)  # the other half is for sandboxes, servers and databases
        self._most_of_one = min(http.connections_per_address, self._most)
        self._of: Counter[str] = Counter()
        self._open: dict[Connection, tuple[str, asyncio.Task[None]]] = {}
        self._options: dict[str, Any] = {}
        if tls:
            self._options = {
                "ssl": tls,
                "ssl_handshake_timeout": http.header_timeout,
                "ssl_shutdown_timeout": CLOSE_SECONDS,
            }

    def __len__(self) -> int:
        return len(self._open)

    async def accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        looking = asyncio.ensure_future(self._look())
        try:
            while True:
                try:
                    accepted, peer = await _accept(listener)
                except OSError as error:  # no descriptor is left, or the client has gone again
                    seldom.warning("http_accept_failed", why=str(error))
                    await asyncio.sleep(0.1)
                    continue
                address = of_address(peer[0]) if peer else ""  # a worker beside us
                if self._room(address):
                    connection = self._make()
                    self._of[address] += 1
                    self._open[connection] = address, loop.create_task(self._serve(connection, accepted))
                else:
                    accepted.close()
                await asyncio.sleep(0)  # other tasks have their turn, however many clients come
        finally:
            looking.cancel()

    async def _serve(self, connection: Connection, accepted: socket.socket) -> None:
        try:
            await connection.loop.connect_accepted_socket(lambda: connection, accepted, **self._options)
            await connection.lost.wait()
        except OSError:  # the client has gone, or does not speak TLS
            pass
        finally:
            self._forget(connection)
            if connection.transport is not None:
                connection.transport.abort()

    def _room(self, address: str) -> bool:
        """Whether there is a place for one more connection from this address;
        another connection is ended for it if need be."""
        if self._of[address] >= self._most_of_one:
            crowd = [one for one, (of, _) in self._open.items() if of == address]
        elif len(self._open) >= self._most:
            crowd = list(self._open)
        else:
            return True
        seldom.warning("http_full", address=address, connections=len(self._open), of_address=self._of[address])
        found: dict[str, Connection] = {}
        for connection in crowd:  # the oldest first
            what = connection.look()[0]
            found.setdefault(what, connection)
            if what in _DROPPED_FIRST:
                break
        for what in (*_DROPPED_FIRST, "idle", "reader"):
            if what in found:
                self._end(found[what])
                return True
        return False

    def _end(self, connection: Connection) -> None:
        task = self._open[connection][1]
        self._forget(connection)  # at once: its task hears of it only later
        task.cancel()

    def _forget(self, connection: Connection) -> None:
        if connection in self._open:
            address, _ = self._open.pop(connection)
            self._of -= Counter([address])

    def close(self, *, busy: bool = True) -> None:
        """End all connections; with `busy=False` only those on which no request is under way."""
        for connection in list(self._open):
            if busy or connection.look()[0] not in ("work", "reader"):
                self._end(connection)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            now = asyncio.get_running_loop().time()
            for connection in list(self._open):
                if connection.overdue(now):
                    self._end(connection)


async def _accept(listener: socket.socket) -> tuple[socket.socket, Any]:
    """A connection. If this is cancelled, none is lost that was there: others may accept from the same socket."""
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":  # its loop has no readers, and nobody shares a socket
        return await loop.sock_accept(listener)
    while True:
        with contextlib.suppress(BlockingIOError):
            accepted, peer = listener.accept()
            accepted.setblocking(False)
            return accepted, peer
        readable = asyncio.Event()
        loop.add_reader(listener, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(listener)


def of_address(host: str) -> str:
    """The address that stands for one client: of IPv6 only the network, as each client has 2^64
    addresses in its own."""
    with contextlib.suppress(ValueError):
        address = ip_address(host.partition("%")[0])
        if isinstance(address, IPv6Address):
            return str(address.ipv4_mapped or address.exploded[:19])
    return host


def descriptors() -> int:
    """How many files this process may have open."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return 2**16
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**16 if soft == resource.RLIM_INFINITY else soft
