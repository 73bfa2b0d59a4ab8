"""The host's line to one sandbox: its frames and its output, on file descriptors of their own or relayed by the zygote."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from doorward.sandbox.inside.protocol import MOST_UNREAD, BadFrame, Frames, encode
from doorward.sandbox.inside.results import BYTES

if TYPE_CHECKING:
    from doorward.sandbox.jail import Account, Jail

MOST_PARTS = 1_000_000
"""Commas and brackets in what one run sends: more would keep this process, and with it every other client, busy for seconds."""

_BYTES = json.dumps(BYTES).encode()

_READS = 16
"""Of output at once: more than a pipe holds, and an end for who prints without one."""


class TooManyParts(BadFrame):
    """One run has sent more than it may."""


Listener = Callable[[dict[str, Any], bytes], None]


def _with_bytes(value: Any) -> Any:
    """A value whose stand-ins for bytes are bytes. Walks with a stack of its own: JSON may be deep."""

    def real(node: Any) -> Any:
        if isinstance(node, dict) and len(node) == 1 and isinstance(text := node.get(BYTES), str):
            try:
                return base64.b64decode(text)
            except ValueError:
                return text
        return node

    value = real(value)
    todo = [value]
    while todo:
        node = todo.pop()
        places = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for place, part in list(places):
            if isinstance(part, (dict, list)):
                node[place] = part = real(part)
                todo.append(part)
    return value


async def first_of(*futures: asyncio.Future[Any]) -> None:
    """Wait until one of them is done."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


class Line:
    """One sandbox, as its host sees it. What comes is handed to `heard` and `print`; what is no frame ends the sandbox."""

    def __init__(self, jail: Jail, number: int) -> None:
        self.jail = jail
        self.number = number
        self.pid = 0
        self.account: Account | None = None
        self.gone: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.why = self.hint = ""
        self.parts = 0
        self.heard: Listener = self._ready
        self.print: Callable[[bytes], None] = lambda data: None
        self._is_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._frames = Frames(2**16, self._loads)

    async def open(self) -> None:
        """Have the zygote start the sandbox, and wait until it is ready. Raises: OSError, EOFError."""
        raise NotImplementedError

    def write(self, frame: bytes) -> None:
        """Send the sandbox a frame."""
        raise NotImplementedError

    def unread(self) -> int:
        """Bytes that wait for the sandbox to read them."""
        raise NotImplementedError

    def send(self, message: dict[str, Any], blob: bytes = b"") -> None:
        """Send the sandbox a message, unless it has left too many unread: then it is ended, and what comes after that is dropped."""
        if self.unread() > MOST_UNREAD:
            hint = "Make fewer calls at once, or ask for less."
            self.break_off(f"the program left more than {MOST_UNREAD // 2**20} MiB of answers unread", hint)
        if not self.why:
            self.write(encode(message, blob))

    def drain(self) -> None:
        """Hand on what has been printed so far."""

    def allow(self, most: int) -> None:
        """The largest frame that may come from now on, in bytes."""
        self._frames = Frames(most, self._loads)

    def _loads(self, text: bytes) -> Any:
        self.parts += text.count(b",") + text.count(b"[") + text.count(b"{")
        if self.parts > MOST_PARTS:
            raise TooManyParts(f"what the program sent has more than {MOST_PARTS:,} parts")
        value = from_json(text)
        return _with_bytes(value) if _BYTES in text else value

    def received(self, data: bytes) -> None:
        """Bytes of the sandbox's channel."""
        try:
            for message, blob in self._frames.feed(data):
                self.heard(message, blob)
        except TooManyParts as error:
            self.break_off(str(error), "Filter or aggregate in the program.")
        except BadFrame as error:
            self.break_off(f"it sent {error}")

    def printed(self, data: bytes) -> None:
        """Bytes of the sandbox's output."""
        self.print(data)

    def break_off(self, why: str, hint: str = "") -> None:
        """Nothing more is listened to; the sandbox is ended. `hint`: what to do, if a limit is why."""
        self.why, self.hint = (self.why, self.hint) if self.why else (why, hint)
        self.heard = lambda message, blob: None
        self._frames = Frames(2**31, lambda text: {})
        with contextlib.suppress(EOFError):
            self.jail.tell({"kill": self.number})

    def lost(self, code: int, why: str = "") -> None:
        """The sandbox has ended, with this exit code (negative: a signal's number)."""
        self.drain()
        self.why = self.why or why
        if not self._is_ready.done():
            self._is_ready.set_exception(EOFError(self.why or f"it ended with code {code}"))
            self._is_ready.exception()
        if not self.gone.done():
            self.gone.set_result(code)

    async def end(self) -> None:
        """End the sandbox, and wait until all of it is gone."""
        if not self.gone.done():
            await self.jail.kill(self)
        self.jail.forget(self)
        if self.account is not None:
            account, self.account = self.account, None
            await account.close()

    def _ready(self, message: dict[str, Any], blob: bytes) -> None:
        if "ready" in message and not self._is_ready.done():
            self._is_ready.set_result(None)


class RelayedLine(Line):
    """Over the jail's own channel, where no file descriptor can be passed."""

    async def open(self) -> None:
        self.jail.tell({"fork": self.number})
        await self._is_ready

    def write(self, frame: bytes) -> None:
        with contextlib.suppress(EOFError):
            self.jail.tell({"to": self.number}, frame)

    def unread(self) -> int:
        return self.jail.unread()


class LocalLine(Line, asyncio.Protocol):
    """Over a socket pair and a pipe, whose other ends the sandbox has got."""

    def __init__(self, jail: Jail, number: int) -> None:
        super().__init__(jail, number)
        self._transport: asyncio.Transport | None = None
        self._link, theirs = socket.socketpair()
        self._out, out = os.pipe()
        try:
            self._link.setblocking(False)
            os.set_blocking(self._out, False)
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # the first frame tells whose process it is
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
            for _ in range(_READS):
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
