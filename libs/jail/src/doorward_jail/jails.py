"""The jails of a pool: those with room for a sandbox, new ones, and the end of those that nobody needs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from doorward import ExecutorError, Limits

from doorward_jail.connections.connection import SandboxConnection
from doorward_jail.jail import Jail

_FREE_JAIL_SECONDS = 0.25
"""How long to wait for a jail to become free: to start another one takes as long."""

_STARTS_AT_ONCE = 2
"""Jails for one sandbox each that are started at the same time: those in use are free before more would be ready."""


class Jails:
    """Makes sandboxes in jails, and jails by `start`. `later` does work that nobody waits for."""

    def __init__(self, start: Callable[[Limits], Awaitable[Jail]], later: Callable[[Awaitable[None]], object]) -> None:
        self._start = start
        self._later = later
        self._all: list[Jail] = []
        self._starting = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.single = False
        """Whether each jail has room for one sandbox."""

    async def sandbox(self, limits: Limits) -> SandboxConnection:
        """A new sandbox, in a jail that has room, else in a new jail. Raises: ExecutorError."""
        jail = await self._jail(limits)
        try:
            return await jail.fork()
        except ExecutorError:
            if not jail.dead.is_set():
                raise
        return await (await self._jail(limits)).fork()  # it had just ended

    async def _jail(self, limits: Limits) -> Jail:
        """A jail with room. A new one is started if there is none, or if those that have one sandbox each do not become
        free soon."""
        soon = self._come_back(limits)
        while (found := self._with_room(limits)) is None:
            if not soon and self._starting < (_STARTS_AT_ONCE if self.single else 1):
                return await self._new(limits)
            soon = await self._freed() and self._come_back(limits)
        return found

    def _come_back(self, limits: Limits) -> bool:
        """Whether there are jails with one sandbox each, which are free again when that has ended."""
        return self.single and any(jail.fresh and jail.holds(limits) for jail in self._all)

    async def _freed(self) -> bool:
        """Wait for a jail to become free, in turn. Returns: whether one has within a while."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(_FREE_JAIL_SECONDS):
                await turn
        except TimeoutError:
            return False
        return True

    def free(self) -> None:
        """There may be room in a jail: a sandbox has ended, or a jail has started, or could not."""
        while self._waiting:
            if not (turn := self._waiting.popleft()).done():
                turn.set_result(None)
                if self.single:
                    return

    def _with_room(self, limits: Limits) -> Jail | None:
        for jail in [jail for jail in self._all if jail.dead.is_set()]:
            self._all.remove(jail)
            self._later(jail.end())  # its sandboxes, and what counts them
        return next((jail for jail in self._all if jail.has_room and jail.holds(limits)), None)

    async def _new(self, limits: Limits) -> Jail:
        self._starting += 1
        try:
            jail = await self._start(limits)
        finally:
            self._starting -= 1
            self.free()
        if self._closed:
            await jail.end()
            raise ExecutorError("the executor was closed")
        self.single = jail.room == 1 or not jail.fresh
        self._all.append(jail)
        return jail

    async def end_unused(self, seconds: float) -> None:
        """End jails that have had no sandbox for so long. One at a time: meanwhile another one may get a sandbox, or be
        ended elsewhere."""
        while (jail := next((jail for jail in self._all if jail.unused() >= seconds), None)) is not None:
            self._all.remove(jail)
            await jail.end()

    async def close(self) -> None:
        """End all jails, and those that are being started."""
        self._closed = True
        await asyncio.gather(*(jail.end() for jail in self._all), return_exceptions=True)
