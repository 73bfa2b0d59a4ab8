"""Connections to sandboxes that can be passed file descriptors: a socket and a pipe for each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct

from doorward_jail.connections.connection import OwningJail, SandboxConnection, first_of

_READS_AT_ONCE = 16
"""More than a pipe holds, but bounded: a program may print without end."""


class LocalConnection(SandboxConnection, asyncio.Protocol):
    """Uses a socket pair and a pipe, whose other ends the sandbox gets."""

    def __init__(self, jail: OwningJail, number: int) -> None:
        super().__init__(jail, number)
        self._transport: asyncio.Transport | None = None
        self._link, theirs = socket.socketpair()
        self._out, out = os.pipe()
        try:
            self._link.setblocking(False)
            os.set_blocking(self._out, False)
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # the first frame comes with the process id
            self.jail.tell({"fork": self.number, "passed": True}, fds=(theirs.fileno(), out))
        except BaseException:
            self._link.close()
            os.close(self._out)
            raise
        finally:
            theirs.close()
            os.close(out)
        asyncio.get_running_loop().add_reader(self._out, self.drain)

    async def open(self) -> None:
        try:
            data = await self._first(self._link)
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            self.received(data)
            self._transport, _ = await asyncio.get_running_loop().create_connection(lambda: self, sock=self._link)
        except BaseException:
            self._link.close()
            raise
        await self._is_ready

    async def _first(self, link: socket.socket) -> bytes:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(link, lambda: None if readable.done() else readable.set_result(None))
        try:
            await first_of(readable, self.gone)
        finally:
            loop.remove_reader(link)
        if not readable.done():
            raise EOFError(self.why or "it ended at once")
        data, parts, _, _ = link.recvmsg(2**16, socket.CMSG_SPACE(struct.calcsize("3i")))
        for level, kind, content in parts:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                self.pid = struct.unpack("3i", content)[0]
        return data

    def data_received(self, data: bytes) -> None:
        self.received(data)

    def write(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frame)

    def unread(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def drain(self) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            for _ in range(_READS_AT_ONCE):
                if self._out < 0:
                    return
                data = os.read(self._out, 2**16)
                if not data:
                    self._close_out()
                    return
                self.printed(data)

    def lost(self, code: int, why: str = "") -> None:
        super().lost(code, why)
        self._close_out()
        if self._transport is not None:
            self._transport.abort()

    def _close_out(self) -> None:
        if self._out >= 0:
            asyncio.get_running_loop().remove_reader(self._out)
            os.close(self._out)
            self._out = -1
