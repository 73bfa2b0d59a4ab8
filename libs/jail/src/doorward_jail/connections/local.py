"""Connections to sandboxes that can be passed file descriptors: a socket and a pipe for each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct

from doorward_jail.connections.connection import OwningJail, SandboxConnection

_READS_AT_ONCE = 16
"""More than a pipe holds, but bounded: a program may print without end."""

_READ_BYTES = 2**16


class LocalConnection(SandboxConnection):
    """Uses a socket pair and a pipe, whose other ends the sandbox gets."""

    def __init__(self, jail: OwningJail, number: int) -> None:
        super().__init__(jail, number)
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
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
        self._loop.add_reader(self._out, self.drain)
        self._loop.add_reader(self._link, self._first)

    async def open(self) -> None:
        await self._is_ready

    def _first(self) -> None:
        """Read the first bytes, with which the kernel tells whose they are."""
        try:
            data, parts, _, _ = self._link.recvmsg(_READ_BYTES, socket.CMSG_SPACE(struct.calcsize("3i")))
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        except BlockingIOError:
            return
        except OSError:
            data, parts = b"", []
        for level, kind, content in parts:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                self.pid = struct.unpack("3i", content)[0]
        self._loop.add_reader(self._link, self._read)
        self._hear(data)

    def _read(self) -> None:
        try:
            data = self._link.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._hear(data)

    def _hear(self, data: bytes) -> None:
        if data:
            self.received(data)
        else:
            self._close_link()

    def write(self, frame: bytes) -> None:
        if self._link.fileno() < 0:
            return
        if not self._unsent:
            frame = frame[self._send_now(frame) :]
            if frame:
                self._loop.add_writer(self._link, self._flush)
        self._unsent += frame

    def _send_now(self, data: bytes | bytearray) -> int:
        """Send what there is room for. Returns: how many bytes."""
        try:
            return self._link.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # nobody will read them
            return len(data)

    def _flush(self) -> None:
        del self._unsent[: self._send_now(self._unsent)]
        if not self._unsent:
            self._loop.remove_writer(self._link)

    def unread(self) -> int:
        return len(self._unsent)

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
        self._close_link()

    def _close_link(self) -> None:
        if self._link.fileno() >= 0:
            self._loop.remove_reader(self._link)
            self._loop.remove_writer(self._link)
            self._link.close()
        self._unsent.clear()

    def _close_out(self) -> None:
        if self._out >= 0:
            self._loop.remove_reader(self._out)
            os.close(self._out)
            self._out = -1
