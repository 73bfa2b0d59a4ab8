"""The host's end of a jail: one isolated Python, whose zygote starts sandboxes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import time
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any

from doorward import ExecutorError, Limits, log

from doorward_jail import bootstrap, seccomp
from doorward_jail.connections.connection import SandboxConnection
from doorward_jail.connections.local import LocalConnection
from doorward_jail.connections.relayed import RelayedConnection
from doorward_jail.inside.protocol import Frames, encode
from doorward_jail.inside.walls import PROGRAM
from doorward_jail.isolated import Isolated
from doorward_jail.not_started import not_started

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/work",
    "TMPDIR": "/tmp",  # noqa: S108 (of the sandbox)
    "LANG": "C.UTF-8",
    "MPLBACKEND": "agg",
    "MPLCONFIGDIR": "/tmp",  # noqa: S108
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""The whole environment of a sandbox."""

_KILL_SECONDS = 5.0
"""If a zygote does not end a sandbox within this time, the whole jail is ended."""


def zygote_config(config: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """The configuration of a zygote.

    * `uid`, `gid`: the user to become, if it is another one.
    * `path`: folders of packages. `preload`: modules to load ahead.
    * `env`: more of the environment.
    * `fresh`: give each sandbox namespaces of its own; without, a jail serves one sandbox.
    * `network`: leave sandboxes the network of the jail.
    * `scratch` (bytes), `inodes`, `files` (open at once), `processes`: limits of a sandbox.
    * `memory`: bytes of address space in addition to the preloaded packages; 0 for no such limit.
    * `one_process`: a sandbox may start no process, where nothing else counts memory.
    * `program`: what a sandbox executes once its walls stand, instead of running Python: `path`, `words` (its command
      line) and `env`. It finds its channel at its standard input and output.
    * `relayed`: the host cannot pass file descriptors.
    """
    given: dict[str, Any] = {"path": [], "preload": [], "env": {}, "fresh": True, "network": False}
    given |= {"files": 1024, "memory": 0, "one_process": False, "program": None, "relayed": True}
    given |= {**defaults, **config}
    given["env"] = ENVIRONMENT | given["env"]
    given["bpf"] = {}
    for machine in seccomp.ARCHITECTURES:
        program = seccomp.bpf(
            machine,
            one_process=given["one_process"],
            network=given["network"],
            executes=PROGRAM if given["program"] else None,
        )
        given["bpf"][machine] = base64.b64encode(program).decode()
    return given


@contextlib.contextmanager
def _more_in_flight() -> Iterator[None]:
    """Raise this process's limit of open files to the hard one for a moment.

    The kernel counts the descriptors that a user has in flight, those of sandboxes included, and compares them with the
    sender's limit of open files. With the hard limit no program can send so many that none is left for us.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Jail(asyncio.Protocol):
    """One jail, made by `start`."""

    def __init__(self, isolated: Isolated, limits: Limits) -> None:
        self.limits = limits
        self.fresh = False
        self.room = isolated.room
        self.connections: dict[int, SandboxConnection] = {}
        self.used = False
        self._left = time.monotonic()
        self.dead = asyncio.Event()
        self._isolated = isolated
        self._frames = Frames(2**31)
        self._last = 0
        self._hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, isolated: Isolated, config: Mapping[str, Any], limits: Limits, seconds: float) -> Jail:
        """Make an isolated Python a zygote, and wait until it is ready.

        Raises: ExecutorError with its standard error, if it ends or is not ready in time.
        """
        jail = cls(isolated, limits)
        isolated.socket.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_connection(lambda: jail, sock=isolated.socket)
            jail._transport = transport
            transport.write(bootstrap.first_frame(dict(config)))
            hello = await asyncio.wait_for(asyncio.shield(jail._hello), seconds)
            if isolated.loaded is not None:
                await isolated.loaded()
        except (OSError, TimeoutError, EOFError) as error:
            late = isinstance(error, TimeoutError)
            said = isolated.said() if late else ""  # what it says because it is ended is no reason
            await jail.end()
            what = f"was not ready after {seconds:g} s" if late else "ended at once"
            raise not_started(f"the sandbox's Python {what}", said or isolated.said()) from None
        except BaseException:
            await jail.end()
            raise
        jail.fresh = hello["fresh"]
        if hello["problems"]:
            await jail.end()
            problems = "; ".join(f"{name}: {problem}" for name, problem in hello["problems"].items())
            hint = "`preload` takes the names that programs import, of what the executor has."
            raise ExecutorError(f"`preload` cannot be loaded: {problems}", hint=hint)
        if config["fresh"] and not jail.fresh:
            log.warning("no_namespaces_in_jail", why=hello["why"], effect="each jail serves one run")
        return jail

    @property
    def more_memory(self) -> str:
        """See `Isolated.more_memory`."""
        return self._isolated.more_memory

    @property
    def has_room(self) -> bool:
        """Whether it can start another sandbox."""
        return (
            not self.dead.is_set()
            and self._ending is None
            and len(self.connections) < self.room
            and (self.fresh or not self.used)
        )

    def holds(self, limits: Limits) -> bool:
        """Whether the walls of its sandboxes were made for these limits."""
        return (limits.memory_bytes, limits.processes) == (self.limits.memory_bytes, self.limits.processes)

    def unused(self) -> float:
        """Seconds since its last sandbox ended; negative if it has one."""
        return -1 if self.connections else time.monotonic() - self._left

    def forget(self, connection: SandboxConnection) -> None:
        """Forget a sandbox that has ended."""
        self.connections.pop(connection.number, None)
        self._left = time.monotonic()

    async def fork(self, seconds: float = 10.0) -> SandboxConnection:
        """Start a sandbox, and wait until it is ready. Returns: its connection. Raises: ExecutorError."""
        if self.dead.is_set():
            raise ExecutorError("the jail has ended", hint=self._isolated.said().strip()[-2000:] or None)
        self._last += 1
        self.used = True
        number = self._last
        try:
            kind = LocalConnection if self._isolated.passes_fds else RelayedConnection
            connection = self.connections[number] = kind(self, number)
        except OSError as error:
            raise not_started("a sandbox did not start", self._isolated.said(), why=str(error)) from None
        try:
            async with asyncio.timeout(seconds):
                await connection.open()
            if self._isolated.account is not None:
                account = self._isolated.account(connection.pid)
                connection.account = await account if isinstance(account, Awaitable) else account
        except (OSError, TimeoutError, EOFError) as error:
            await connection.end()
            said = connection.said.decode(errors="replace")
            why = "" if said.strip() else f"{error}" or f"it was not ready after {seconds:g} s"
            raise not_started("a sandbox did not start", said or self._isolated.said(), why=why) from None
        except BaseException:
            await connection.end()
            raise
        return connection

    def tell(self, message: dict[str, Any], blob: bytes = b"", fds: tuple[int, ...] = ()) -> None:
        """Send the zygote a message."""
        if self.dead.is_set():
            raise EOFError("the jail has ended")
        if fds:
            with _more_in_flight():
                socket.send_fds(self._isolated.socket, [encode(message, blob)], fds)
        else:
            self._transport.write(encode(message, blob))

    def unread(self) -> int:
        """Bytes that wait for the zygote to read them."""
        return self._transport.get_write_buffer_size()

    async def kill(self, connection: SandboxConnection) -> None:
        """End a sandbox and everything in it, or the whole jail if that does not work at once."""
        with contextlib.suppress(EOFError):
            self.tell({"kill": connection.number})
        await asyncio.wait([connection.gone], timeout=_KILL_SECONDS)
        if not connection.gone.done():
            log.warning("jail_killed", why="its zygote did not end a sandbox")
            await self.end()

    async def end(self) -> None:
        """End the jail and everything in it."""
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        try:
            await self._isolated.kill()
        finally:
            self.connection_lost(None)
            if hasattr(self, "_transport"):
                self._transport.close()
            else:
                self._isolated.socket.close()
            for connection in list(self.connections.values()):
                await connection.end()

    # Messages of the zygote

    def data_received(self, data: bytes) -> None:
        if self._isolated.unwrap is not None:
            data = self._isolated.unwrap(data)
        try:
            for message, blob in self._frames.feed(data):
                self._heard(message, blob)
        except Exception as error:  # whatever comes from there, it ends this jail and nothing else
            log.warning("jail_killed", why=f"its zygote sent what is no message: {type(error).__name__}: {error}")
            self._ending = self._ending or asyncio.ensure_future(self._end())

    def _heard(self, message: dict[str, Any], blob: bytes) -> None:
        if "hello" in message:
            self._hello.set_result(message["hello"])
            return
        kind, number = next((k, message[k]) for k in ("from", "printed", "failed", "gone") if k in message)
        if (connection := self.connections.get(number)) is None:
            return
        if kind == "from":
            connection.received(blob)
        elif kind == "printed":
            connection.printed(blob)
        elif kind == "failed":
            connection.lost(1, str(message["why"]))
        elif kind == "gone":
            connection.lost(int(message["code"]))

    def connection_lost(self, error: Exception | None) -> None:
        self.dead.set()
        if not self._hello.done():
            self._hello.set_exception(EOFError("the jail has ended"))
            self._hello.exception()
        for connection in list(self.connections.values()):
            connection.lost(-9, "the jail has ended")
