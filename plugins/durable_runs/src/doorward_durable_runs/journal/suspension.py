"""How a run is suspended: its calls in flight end, what waits stays undecided, and its sandbox ends."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, Protocol

from doorward import Wait
from doorward.recording import Suspension
from doorward.values import to_its_end

if TYPE_CHECKING:
    import anyio

GATHER_SECONDS = 0.1
"""How long a run goes on once all its calls wait: calls that a program makes at once come out of its sandbox one after
the other, some of them after an answer, and people are to be asked about all of them together."""

GATHER_TURNS = 10
"""The turns of the event loop in which that time passes. On a busy machine it passes while neither this process nor the
sandbox runs: what has come meanwhile is heard before the next turn."""


class Suspendable(Protocol):
    """A journal, as the suspension of its run needs it."""

    @property
    def why_not(self) -> str:
        """Why the run cannot be suspended; "" if it can."""

    @property
    def expires(self) -> float:
        """When it is forgotten, in seconds since 1970."""

    def consume(self, id: str) -> bool:
        """Whether this approval was given to the run, which uses it now."""

    async def suspend(self, waits: Sequence[Wait], parked: Collection[int]) -> None:
        """Store the run, and what it waits for."""


class StoredSuspension(Suspension):
    """What the calls of one run wait for that has a journal. Once all calls in flight wait, and no other has come for a
    moment, the run is suspended: the block around its sandbox is cancelled."""

    __slots__ = ("_in_flight", "_journal", "_over", "_stopping", "_timer", "_waiting")

    def __init__(self, journal: Suspendable) -> None:
        super().__init__()
        self._journal = journal
        self._in_flight = self._waiting = 0
        self._stopping = ""
        self._over = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def why_not(self) -> str:
        return self._journal.why_not if self.scope is not None else super().why_not

    def possible(self, until: float = 0.0) -> bool:
        """Whether there is a sandbox to end, and the run can be resumed then."""
        return not self.why_not and until < self._journal.expires

    @contextmanager
    def ends(self, scope: anyio.CancelScope) -> Iterator[None]:
        with super().ends(scope):
            try:
                yield
            finally:
                self._set_timer(None)

    def __enter__(self) -> None:
        self._in_flight += 1
        if self.waits:
            self._look()

    def __exit__(self, *raised: object) -> None:
        self._in_flight -= 1
        if self.waits:
            self._look()

    async def wait(self, wait: Wait) -> NoReturn:
        import anyio

        if self.why_not:
            await super().wait(wait)
        self.waits.append(wait)
        self._waiting += 1
        self._look()
        await anyio.sleep_forever()
        raise AssertionError("cancelled with its sandbox")

    async def turn(self) -> None:
        """Begin a call, unless the run is to stop, or is being suspended: what begins while its sandbox ends must not
        go out, for the journal says of calls under way then that they were not made."""
        if self._over:
            import anyio

            await anyio.sleep_forever()
        if self._stopping:
            await self.wait(Wait("stop", self._stopping))

    def stop(self, what: str) -> bool:
        if not self.possible():
            return False
        if not self._stopping:
            self._stopping = what
            self.waits.append(Wait("stop", what))
            self._look()
        return True

    def consume(self, id: str) -> bool:
        return self._journal.consume(id)

    async def store(self) -> None:
        await to_its_end(self._journal.suspend(self.waits, self.parked))

    def _look(self) -> None:
        if self.scope is None or self._in_flight > self._waiting:
            self._set_timer(None)
        elif self._stopping:  # no further call is made
            self._end(self.scope)
        else:
            self._set_timer(self.scope)

    def _set_timer(self, ends: anyio.CancelScope | None) -> None:
        """Let a scope end in a moment, or none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if ends is not None:
            self._pass(ends, GATHER_TURNS)

    def _pass(self, ends: anyio.CancelScope, left: int) -> None:
        """Let a scope end after so many turns."""
        if left:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(GATHER_SECONDS / GATHER_TURNS, self._pass, ends, left - 1)
        else:
            self._end(ends)

    def _end(self, scope: anyio.CancelScope) -> None:
        self._over = True
        scope.cancel()
