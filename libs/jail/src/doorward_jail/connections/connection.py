"""The host's connection to one sandbox, whatever carries its frames and its output."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from doorward import Limits
from doorward.values import write_json

from doorward_jail.connections.inbox import Inbox
from doorward_jail.inside.protocol import HEADER, MAX_UNREAD_BYTES, encode
from doorward_jail.isolated import Account

_SAID_BYTES = 4096
"""Of what a sandbox says before it is ready."""

Listener = Callable[[dict[str, Any], bytes], None]


async def first_of(*futures: asyncio.Future[Any]) -> None:
    """Wait until one of them is done."""
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


class OwningJail(Protocol):
    """The jail of a sandbox, as far as its connection and its client know it."""

    limits: Limits
    fresh: bool
    """Whether each sandbox gets namespaces of its own."""
    dead: asyncio.Event

    @property
    def more_memory(self) -> str:
        """See `Isolated.more_memory`."""
        ...

    def holds(self, limits: Limits) -> bool:
        """Whether the jail was made for these limits."""
        ...

    def tell(self, message: dict[str, Any], blob: bytes = b"", fds: tuple[int, ...] = ()) -> None:
        """Send its zygote a message. Raises: EOFError."""
        ...

    def unread(self) -> int:
        """Bytes that wait for its zygote to read them."""
        ...

    async def kill(self, connection: SandboxConnection) -> None:
        """End a sandbox."""
        ...

    def forget(self, connection: SandboxConnection) -> None:
        """Forget a sandbox that has ended."""
        ...

    async def end(self) -> None:
        """End the jail and everything in it."""
        ...


class SandboxConnection:
    """The host's connection to one sandbox. Messages are handed to `heard`, output to `print`; bytes that are no frame
    end the sandbox."""

    def __init__(self, jail: OwningJail, number: int) -> None:
        self.jail = jail
        self.number = number
        self.pid = 0
        self.account: Account | None = None
        self.gone: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.why = self.hint = ""
        self.heard: Listener = self._ready
        self.said = b""
        self.print: Callable[[bytes], None] = self._say
        self._is_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox = Inbox(2**16, lambda message, blob: self.heard(message, blob), self.break_off)

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
        """Send the sandbox a message. If it has left too many bytes unread it is ended, and further messages are
        dropped."""
        self._send(encode(message, blob))

    def _send(self, frame: bytes) -> None:
        if self.unread() > MAX_UNREAD_BYTES:
            hint = "Make fewer calls at once, or ask for less."
            self.break_off(f"the program left more than {MAX_UNREAD_BYTES // 2**20} MiB of answers unread", hint)
        if not self.why:
            self.write(frame)

    def drain(self) -> None:
        """Hand on the output that is there."""

    async def send_answer(self, answer: dict[str, Any], blob: bytes = b"") -> None:
        """Send an answer, whose value may be large."""
        if "value" in answer:
            body = await write_json(answer)
            self._send(HEADER.pack(len(body)) + body)
        else:
            self.send(answer, blob)

    def begin(self, most_bytes: int) -> None:
        """Begin a run, whose frames have at most so many bytes."""
        self._inbox.begin(most_bytes)

    async def all_read(self) -> None:
        """Wait until all messages and all output that the sandbox has sent are handed on."""
        await self._inbox.all_read()
        self.drain()

    def received(self, data: bytes) -> None:
        """Take bytes of the sandbox's channel."""
        self._inbox.feed(data)

    def printed(self, data: bytes) -> None:
        """Take bytes of the sandbox's output."""
        self.print(data)

    def break_off(self, why: str, hint: str = "") -> None:
        """End the sandbox, and take nothing more from it. `hint`: what to do, if a limit is the reason."""
        self.why, self.hint = (self.why, self.hint) if self.why else (why, hint)
        self._inbox.close()
        with contextlib.suppress(EOFError):
            self.jail.tell({"kill": self.number})

    def lost(self, code: int, why: str = "") -> None:
        """Note that the sandbox has ended, with this exit code (negative: the number of a signal)."""
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
        self.heard = lambda message, blob: None
        self._inbox.close()
        if self.account is not None:
            account, self.account = self.account, None
            await account.close()

    def _say(self, data: bytes) -> None:
        """Keep what the sandbox says before a program runs in it: why it did not start."""
        self.said = (self.said + data)[-_SAID_BYTES:]

    def _ready(self, message: dict[str, Any], blob: bytes) -> None:
        if "ready" in message and not self._is_ready.done():
            self._is_ready.set_result(None)
