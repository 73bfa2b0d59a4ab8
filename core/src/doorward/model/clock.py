"""The clock of a run, which stands still while its client is asked: a person takes longer than a program may."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import anyio


class Clock:
    """Measures the deadlines of a run: `time.monotonic()` less the time for which it stood still.

    One timer serves all blocks that have a deadline: a run has one around its calls, so that these set none.
    """

    def __init__(self) -> None:
        self._stood = 0.0
        self._since = 0.0
        self._holding = 0
        self._scopes: dict[anyio.CancelScope, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._rings = math.inf

    def now(self) -> float:
        """The time that the clock shows, in seconds."""
        return time.monotonic() - (self.stood if self._holding else self._stood)

    @property
    def stood(self) -> float:
        """Seconds for which it has stood still so far, in all."""
        return self._stood + (time.monotonic() - self._since if self._holding else 0.0)

    def until(self, deadline: float) -> AbstractContextManager[anyio.CancelScope]:
        """A block that is cancelled when the clock shows `deadline`. It raises nothing, like
        `anyio.move_on_after`."""
        return _Until(self, deadline)

    def begin(self, scope: anyio.CancelScope, deadline: float) -> None:
        """Cancel a block, which has just begun, when the clock shows `deadline`."""
        self._scopes[scope] = deadline
        if deadline < self._rings:
            self._set()

    def end(self, scope: anyio.CancelScope) -> None:
        """A block has ended."""
        del self._scopes[scope]
        if not self._scopes:
            self._set()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """A block during which the clock stands still. Such blocks may overlap."""
        if not self._holding:
            self._since = time.monotonic()
        self._hold(1)
        try:
            yield
        finally:
            if self._holding == 1:
                self._stood += time.monotonic() - self._since
            self._hold(-1)

    def _hold(self, more: int) -> None:
        self._holding += more
        self._set()

    def _set(self) -> None:
        """Set the timer to the first deadline. While the clock stands still, it has none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._rings = math.inf if self._holding else min(self._scopes.values(), default=math.inf)
        if self._rings < math.inf:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(loop.time() + self._rings - self.now(), self._ring)

    def _ring(self) -> None:
        """Cancel the blocks whose deadline has come."""
        now = self.now()
        for scope in [scope for scope, deadline in self._scopes.items() if deadline <= max(now, self._rings)]:
            self._scopes[scope] = math.inf
            scope.cancel()
        self._set()


class _Until:
    """See `Clock.until`. A class, and no generator: one is around every call."""

    __slots__ = ("_clock", "_deadline", "_scope")

    def __init__(self, clock: Clock, deadline: float) -> None:
        self._clock = clock
        self._deadline = deadline

    def __enter__(self) -> anyio.CancelScope:
        import anyio

        self._scope = anyio.CancelScope().__enter__()
        self._clock.begin(self._scope, self._deadline)
        return self._scope

    def __exit__(self, *raised: Any) -> bool | None:
        self._clock.end(self._scope)
        return self._scope.__exit__(*raised)
