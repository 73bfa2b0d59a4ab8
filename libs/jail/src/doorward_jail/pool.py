"""Sandboxes started ahead, so that a run need not wait for one. Each serves one client, and is ended afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable

from doorward import Busy, DoorwardError, ExecutorError, Limits, log

from doorward_jail.connections.connection import SandboxConnection
from doorward_jail.jail import Jail
from doorward_jail.jails import Jails

_ANSWER_SECONDS = 0.002
"""A sandbox is ended only after this time: the answer on its way to the client needs the processor first."""

_REFILL_SECONDS = 0.02
"""If enough others are ready, the next one is started only after this time: most runs are over by then."""

_QUIET_SECONDS = 1.0
"""After this time without a client, no more sandboxes are kept ahead than configured."""

_UNUSED_JAIL_SECONDS = 10.0
"""A jail for one sandbox at a time is ended after this time without a sandbox."""


Kind = tuple[int, int]
"""What the walls of a sandbox are made for: memory and processes."""


def _kind(limits: Limits) -> Kind:
    return limits.memory_bytes, limits.processes


class Pool:
    """Keeps `ready` sandboxes ahead, and allows `most` at once; clients that wait for one are served in turn.

    When clients come faster than sandboxes are made, more are kept ahead, up to `most` with those in use, until it is
    quiet again. `start` makes a jail. After `idle` seconds without a client, all that are ready are ended (0: never).
    """

    def __init__(
        self, start: Callable[[Limits], Awaitable[Jail]], *, ready: int, most: int, wait: float, idle: float
    ) -> None:
        self._most, self._wait, self._idle = most, wait, idle
        self._configured = self._aim = ready
        self._jails = Jails(start, self._later)
        self._slots = asyncio.Semaphore(most)
        self._used = 0
        """Slots that are taken."""
        self._waiting: deque[tuple[Kind, asyncio.Future[SandboxConnection]]] = deque()
        self._ready: deque[SandboxConnection] = deque()
        self._makers: set[asyncio.Future[None]] = set()
        self._making: Counter[Kind] = Counter()
        self._tasks: set[asyncio.Future[None]] = set()
        self._refill: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._limits: Limits | None = None
        self._last = 0.0
        self._closed = False

    @property
    def ready(self) -> int:
        """How many sandboxes wait for a client."""
        return len(self._ready)

    # Clients

    async def take(self, limits: Limits) -> SandboxConnection:
        """An unused sandbox. Raises: Busy if none becomes free in time; ExecutorError if none can be started."""
        try:
            if self._slots.locked():
                async with asyncio.timeout(self._wait):
                    await self._slots.acquire()
            else:
                await self._slots.acquire()
        except TimeoutError:
            hint = "Try again, end sessions, or let the operator raise `most`."
            raise Busy(f"all {self._most} sandboxes are busy", hint=hint) from None
        self._used += 1
        try:
            return await self._next(limits)
        except BaseException:
            self._give_back()
            raise

    async def instead_of(self, dead: SandboxConnection) -> SandboxConnection:
        """A sandbox in place of one that has died. Raises: ExecutorError."""
        self._later(dead.end())
        return await self._next(dead.jail.limits)

    def left(self, connection: SandboxConnection, *, at_once: bool) -> asyncio.Future[None]:
        """End the sandbox of a client that has gone: at once, or when its answer has had time to arrive."""
        return self._later(self._end(connection, 0 if at_once else _ANSWER_SECONDS))

    async def _next(self, limits: Limits) -> SandboxConnection:
        if self._closed:
            raise ExecutorError("the executor was closed")
        before, kind = self._limits, _kind(limits)
        self._limits, self._last = limits, asyncio.get_running_loop().time()
        while self._ready:
            connection = self._ready.popleft()
            if not connection.gone.done() and connection.jail.holds(limits):
                self._refill_later()
                return connection
            self._later(connection.end())
        if before is None or _kind(before) != kind:  # what was ahead was of no use, however much it was
            self._aim = self._configured
        elif not self._jails.single:  # clients come faster than sandboxes are made
            self._aim = min(self._most, 2 * self._aim)
        turn: asyncio.Future[SandboxConnection] = asyncio.get_running_loop().create_future()
        self._waiting.append((kind, turn))
        if self._making[kind] < self._count_waiting(kind):
            self._begin(limits)
        self._make_missing()
        try:
            return await turn
        except asyncio.CancelledError:
            if (kind, turn) in self._waiting:
                self._waiting.remove((kind, turn))
            elif not turn.cancelled() and turn.exception() is None:  # it came too late
                self._hand_over(turn.result())
            raise

    async def _end(self, connection: SandboxConnection, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
            await connection.end()
            if not connection.jail.fresh:
                await connection.jail.end()
        finally:
            self._give_back()
            self._jails.free()
        if self._limits is None:  # the idle time ended meanwhile
            await self._jails.end_unused(0)
        else:
            self._last = asyncio.get_running_loop().time()
            self._refill_later()

    def _give_back(self) -> None:
        self._used -= 1
        self._slots.release()

    # Making sandboxes ahead

    def _missing(self) -> int:
        """How many sandboxes are to be started ahead now; each client that waits has one started already."""
        ahead = min(self._aim, max(self._configured, self._most - self._used))
        return ahead - len(self._ready) - (self._making.total() - len(self._waiting))

    def _refill_later(self) -> None:
        """Start what is missing: at once if it is urgent, else when most runs are over."""
        if self._closed:
            return
        if not self._ready or self._aim > self._configured:
            self._make_missing()
        elif self._refill is None:
            self._refill = asyncio.get_running_loop().call_later(_REFILL_SECONDS, self._make_missing)

    def _make_missing(self) -> None:
        if self._refill is not None:
            self._refill.cancel()
            self._refill = None
        if self._rest is None:
            self._rest_later(0)
        while self._limits is not None and self._missing() > 0:
            self._begin(self._limits)

    def _begin(self, limits: Limits) -> None:
        self._making[_kind(limits)] += 1
        maker = self._later(self._make(limits))
        self._makers.add(maker)
        maker.add_done_callback(self._makers.discard)

    async def _make(self, limits: Limits) -> None:
        kind = _kind(limits)
        try:
            connection = await self._jails.sandbox(limits)
        except DoorwardError as error:
            self._making[kind] -= 1
            if self._making[kind] < self._count_waiting(kind) and (turn := self._first_waiting(kind)) is not None:
                turn.set_exception(error)
            else:
                log.warning("sandbox_not_started", error=str(error), hint=error.hint)  # the next run will fail with it
        except BaseException:
            self._making[kind] -= 1
            raise
        else:
            self._making[kind] -= 1
            self._hand_over(connection)

    def _hand_over(self, connection: SandboxConnection) -> None:
        """Give a sandbox to whoever waits longest, or keep it."""
        if (turn := self._first_waiting(_kind(connection.jail.limits))) is not None:
            turn.set_result(connection)
        elif self._limits is None or self._closed or not connection.jail.holds(self._limits):
            self._later(self._end_unwanted(connection))
        else:
            self._ready.append(connection)

    async def _end_unwanted(self, connection: SandboxConnection) -> None:
        await connection.end()
        if self._limits is None:  # the idle time ended while it was made
            await self._jails.end_unused(0)

    def _count_waiting(self, kind: Kind) -> int:
        return sum(waiting[0] == kind for waiting in self._waiting)

    def _first_waiting(self, kind: Kind) -> asyncio.Future[SandboxConnection] | None:
        """The turn of whoever waits longest for such a sandbox."""
        for waiting in self._waiting:
            if waiting[0] == kind and not waiting[1].done():
                self._waiting.remove(waiting)
                return waiting[1]
        return None

    # Quiet times

    def _rest_later(self, quiet: float) -> None:
        """Look again when something may be over, after so many seconds without a client."""
        after = [_QUIET_SECONDS - quiet] if quiet < _QUIET_SECONDS else []
        after += [self._idle - quiet] if self._idle else []
        after += [_UNUSED_JAIL_SECONDS] if self._jails.single else []
        if after and self._limits is not None:
            loop = asyncio.get_running_loop()
            self._rest = loop.call_later(min(after), lambda: self._later(self._quieten()))

    async def _quieten(self) -> None:
        """End what is ready beyond the configured number once nobody has come for a while, and all of it after the idle
        time."""
        self._rest = None
        quiet = asyncio.get_running_loop().time() - self._last
        if quiet >= _QUIET_SECONDS:
            self._aim = self._configured
        if self._idle and quiet >= self._idle:
            self._limits = None
        while len(self._ready) > (0 if self._limits is None else self._aim):
            await self._ready.pop().end()
        if self._jails.single or self._limits is None:
            await self._jails.end_unused(0 if self._limits is None else _UNUSED_JAIL_SECONDS)
        if not self._closed and self._rest is None:
            self._rest_later(quiet)

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
        for timer in (self._refill, self._rest):
            if timer is not None:
                timer.cancel()
        for maker in self._makers:
            maker.cancel()
        for _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(ExecutorError("the executor was closed"))
        await asyncio.gather(self._jails.close(), *self._tasks, return_exceptions=True)
