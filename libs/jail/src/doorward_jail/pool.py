"""Sandboxes started ahead, so that a run need not wait for one. Each serves one client, and is ended afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

from doorward import Busy, DoorwardError, ExecutorError, Limits, log

from doorward_jail.connections.connection import SandboxConnection
from doorward_jail.jail import Jail

_FREE_JAIL_SECONDS = 0.25
"""How long to wait for a jail to become free: to start another one takes as long."""

_ANSWER_SECONDS = 0.002
"""A sandbox is ended only after this time: the answer on its way to the client needs the processor first."""

_REFILL_SECONDS = 0.02
"""If another sandbox is ready, the next one is started only after this time: most runs are over by then."""

_UNUSED_JAIL_SECONDS = 10.0
"""A jail for one sandbox at a time is ended after this time without a sandbox."""


class Pool:
    """Keeps `ready` sandboxes ahead, and allows `most` at once; clients that wait for one are served in turn.

    `start` makes a jail. After `idle` seconds without a client, the sandboxes that are ready are ended (0: never).
    """

    def __init__(
        self, start: Callable[[Limits], Awaitable[Jail]], *, ready: int, most: int, wait: float, idle: float
    ) -> None:
        self._start = start
        self._most, self._wait, self._idle = most, wait, idle
        self._aim = ready
        self._slots = asyncio.Semaphore(most)
        self._starting = asyncio.Lock()
        self._jails: list[Jail] = []
        self._ready: deque[SandboxConnection] = deque()
        self._making = 0
        self._room = 0
        self._tasks: set[asyncio.Future[None]] = set()
        self._refills: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._limits: Limits | None = None
        self._leaving = 0
        self._freed = asyncio.Event()
        self._closed = False

    async def take(self, limits: Limits) -> SandboxConnection:
        """An unused sandbox. Raises: Busy if none becomes free in time; ExecutorError if none can be started."""
        try:
            await asyncio.wait_for(self._slots.acquire(), self._wait)
        except TimeoutError:
            hint = "Try again, end sessions, or let the operator raise `most`."
            raise Busy(f"all {self._most} sandboxes are busy", hint=hint) from None
        try:
            self._limits = limits
            connection = self._first_ready(limits) or await self._make(limits)
        except BaseException:
            self._slots.release()
            raise
        self._refill_later(_REFILL_SECONDS if self._ready else 0)
        return connection

    async def instead_of(self, dead: SandboxConnection) -> SandboxConnection:
        """A sandbox in place of one that has died. Raises: ExecutorError."""
        limits = dead.jail.limits
        self._later(dead.end())
        return self._first_ready(limits) or await self._make(limits)

    def _first_ready(self, limits: Limits) -> SandboxConnection | None:
        while self._ready:
            connection = self._ready.popleft()
            if not connection.gone.done() and connection.jail.holds(limits):
                return connection
            self._later(connection.end())
        return None

    async def _make(self, limits: Limits) -> SandboxConnection:
        """A new sandbox, in a jail that has room, else in a new jail."""
        jail = self._jail_with_room(limits) or await self._jail_soon(limits) or await self._new_jail(limits)
        try:
            return await jail.fork()
        except ExecutorError:
            if not jail.dead.is_set():
                raise
        return await (await self._new_jail(limits)).fork()  # the jail with room had just ended

    async def _jail_soon(self, limits: Limits) -> Jail | None:
        """A jail that is about to become free, if a client has just left: that is faster than to start one."""
        return await self._next_free(limits) if self._leaving and self._room == 1 else None

    async def _next_free(self, limits: Limits) -> Jail | None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._freed.wait(), _FREE_JAIL_SECONDS)
        return self._jail_with_room(limits)

    def _jail_with_room(self, limits: Limits) -> Jail | None:
        for jail in [jail for jail in self._jails if jail.dead.is_set()]:
            self._jails.remove(jail)
            self._later(jail.end())  # its sandboxes, and what counts them
        return next((jail for jail in self._jails if jail.has_room and jail.holds(limits)), None)

    async def _new_jail(self, limits: Limits) -> Jail:
        if self._room == 1:
            jail = await self._start(limits)
        else:
            async with self._starting:  # by now another caller may have started one with room
                if (found := self._jail_with_room(limits)) is not None:
                    return found
                jail = await self._start(limits)
        if self._closed:
            await jail.end()
            raise ExecutorError("the executor was closed")
        self._room = jail.room if jail.fresh else 1
        self._jails.append(jail)
        return jail

    def left(self, connection: SandboxConnection, *, at_once: bool) -> asyncio.Future[None]:
        """End the sandbox of a client that has gone: at once, or when its answer has had time to arrive."""
        return self._later(self._end(connection, 0 if at_once else _ANSWER_SECONDS))

    async def _end(self, connection: SandboxConnection, seconds: float) -> None:
        self._leaving += connection.jail.fresh
        try:
            await asyncio.sleep(seconds)
            await connection.end()
            if not connection.jail.fresh:
                await connection.jail.end()
        finally:
            self._leaving -= connection.jail.fresh
            self._slots.release()
            self._freed.set()
            self._freed = asyncio.Event()
        if not self._closed:
            self._refill_later(_REFILL_SECONDS if self._ready else 0)

    def _refill_later(self, seconds: float) -> None:
        task = self._later(self._refill(seconds))
        self._refills.add(task)
        task.add_done_callback(self._refills.discard)

    async def _refill(self, seconds: float) -> None:
        """Start the sandboxes that are missing ahead, after this time."""
        self._rest()
        await asyncio.sleep(seconds)
        while (limits := self._limits) is not None and not self._closed and len(self._ready) + self._making < self._aim:
            self._making += 1
            try:
                if self._room == 1 and self._jail_with_room(limits) is None:
                    await self._next_free(limits)
                self._ready.append(await self._make(limits))
            except DoorwardError as error:
                log.warning("sandbox_not_started", error=str(error), hint=error.hint)  # the next run will fail with it
                return
            finally:
                self._making -= 1
        if self._limits is None:  # the idle time ended while these were made
            await self._end_ready()
        elif self._room == 1:
            asyncio.get_running_loop().call_later(
                _UNUSED_JAIL_SECONDS, lambda: self._later(self._end_unused(_UNUSED_JAIL_SECONDS))
            )

    def _rest(self) -> None:
        """Begin the idle time anew."""
        if self._timer is not None:
            self._timer.cancel()
        if self._idle:
            self._timer = asyncio.get_running_loop().call_later(self._idle, lambda: self._later(self._end_ready()))

    async def _end_ready(self) -> None:
        """End unused sandboxes, and jails without any."""
        self._limits = None
        while self._ready:
            await self._ready.popleft().end()
        await self._end_unused(0)

    async def _end_unused(self, seconds: float) -> None:
        """End jails that have had no sandbox for so long. One at a time: meanwhile another one may get a sandbox, or be
        ended elsewhere."""
        while (jail := next((jail for jail in self._jails if jail.unused() >= seconds), None)) is not None:
            self._jails.remove(jail)
            await jail.end()

    def _later(self, work: Awaitable[None]) -> asyncio.Future[None]:
        task: asyncio.Future[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("sandbox_pool", error=f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        """End all sandboxes and jails."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in self._refills:
            task.cancel()
        await asyncio.gather(*(jail.end() for jail in self._jails), *self._tasks, return_exceptions=True)
