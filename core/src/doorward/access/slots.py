"""Shares the sandboxes of an executor fairly: each principal leaves as many as it takes, and all take turns."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from doorward.model.errors import Busy
from doorward.model.principals import LOCAL
from doorward.model.programs import ProgramResult
from doorward.plugins.hook_answers import expected

if TYPE_CHECKING:
    from doorward.model.executors import Door, Sandbox
    from doorward.model.programs import Program


MAX_WAITING = 2048
"""Runs that wait for a sandbox of one executor. Principals share these places as they share the sandboxes."""

NOTICE_SECONDS = 0.05
"""A run that still waits is told so many seconds before its deadline: it was not its program that took too long."""


def may_take(principal: str, held: Counter[str], most: int) -> bool:
    """Whether a principal may take one more of `most` places: its first, or one after which as many places are free as
    it has. So one principal has at most half of all places, a second one half of the rest, and one is left for the
    next. `local` may take all."""
    free = most - held.total()
    return free > 0 and (principal == LOCAL or not held[principal] or held[principal] < free - 1)


class Slots:
    """The places for sandboxes of one executor."""

    def __init__(self, executor: str, most: int, wait: float) -> None:
        self._executor = executor
        self._most = most
        self._wait = wait
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # in the order of their turns

    def counts(self) -> dict[str, int]:
        """How many places are taken, and how many runs wait for one."""
        return {"in_use": self._held.total(), "waiting": sum(len(each) for each in [*self._waiting.values()])}

    async def take(self, principal: str, seconds: float) -> None:
        """Take a place, now or when it is the principal's turn. Raises: Busy if that takes longer than `seconds` or the
        executor's `wait`, or if too many wait already."""
        if may_take(principal, self._held, self._most):
            self._held[principal] += 1
            return
        waiting = Counter({who: len(turns) for who, turns in self._waiting.items()})
        if not may_take(principal, waiting, MAX_WAITING):
            raise self._full(principal, waiting)
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(principal, deque()).append(turn)
        timer = loop.call_later(min(seconds, self._wait), self._end, turn, principal)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and not turn.exception():  # the place came too late
                self.give_back(principal)
            raise
        finally:
            timer.cancel()
            self._forget(principal, turn)

    def give_back(self, principal: str) -> None:
        """Free a place, and give it to the principal whose turn is next."""
        self._held[principal] -= 1
        if not self._held[principal]:
            del self._held[principal]
        while (
            chosen := next((each for each in self._waiting if may_take(each, self._held, self._most)), None)
        ) is not None:
            turn = self._waiting[chosen][0]
            self._forget(chosen, turn)
            if (others := self._waiting.pop(chosen, None)) is not None:
                self._waiting[chosen] = others  # behind all others
            if not turn.done():
                turn.set_result(None)
                self._held[chosen] += 1

    def _forget(self, principal: str, turn: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(principal)
        if waiting is not None and turn in waiting:
            waiting.remove(turn)
            if not waiting:
                del self._waiting[principal]

    def _end(self, turn: asyncio.Future[None], principal: str) -> None:
        if not turn.done():
            turn.set_exception(self._busy(principal))

    def _full(self, principal: str, waiting: Counter[str]) -> Busy:
        return Busy(
            f"too many runs wait for a sandbox of the executor {self._executor!r}: {waiting.total()}, "
            f"{waiting[principal]} of them yours",
            hint="Nothing has run: try again when some of yours have ended, and do more in one run.",
        )

    def _busy(self, principal: str) -> Busy:
        mine, held = self._held[principal], self._held.total()
        yours = f", {mine} of them by you, who may have no more" if mine else ""
        return Busy(
            f"the executor {self._executor!r} is busy: {held} of its {self._most} sandboxes are in use{yours}",
            hint="Nothing has run: try again. Open sessions, and runs that wait for an answer, have one each: end or "
            "answer yours.",
        )


class SlotSandbox:
    """A sandbox that gives its slot back when it is closed. `blamed` names the executor if a method fails, `ends` if it
    does not end."""

    def __init__(
        self,
        sandbox: Sandbox,
        slots: Slots,
        principal: str,
        blamed: Callable[[str], AbstractContextManager[None]],
        ends: Callable[[str, Awaitable[ProgramResult]], Awaitable[ProgramResult]],
    ) -> None:
        self._sandbox = sandbox
        self._slots = slots
        self._principal = principal
        self._blamed, self._ends = blamed, ends
        self._has_slot = True

    async def run(self, program: Program, door: Door) -> ProgramResult:
        """See `doorward.Sandbox.run`."""
        with self._blamed("run"):
            return expected(ProgramResult, await self._ends("run", self._sandbox.run(program, door)))

    async def close(self) -> None:
        """See `doorward.Sandbox.close`."""
        try:
            with self._blamed("close"):
                await self._sandbox.close()
        finally:
            if self._has_slot:
                self._has_slot = False
                self._slots.give_back(self._principal)
