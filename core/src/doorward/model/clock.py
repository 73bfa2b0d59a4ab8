"""The clock of a run, which stands still while its client is asked: a person takes longer than a program may."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import anyio


class Clock:
    """Measures the deadlines of a run: `time.monotonic()` less the time for which it stood still."""

    def __init__(self) -> None:
        self._stood = 0.0
        self._since = 0.0
        self._holding = 0
        self._scopes: dict[anyio.CancelScope, float] = {}

    def now(self) -> float:
        """The time that the clock shows, in seconds."""
        return time.monotonic() - self.stood

    @property
    def stood(self) -> float:
        """Seconds for which it has stood still so far, in all."""
        return self._stood + (time.monotonic() - self._since if self._holding else 0.0)

    def until(self, deadline: float) -> AbstractContextManager[anyio.CancelScope]:
        """A block that is cancelled when the clock shows `deadline`. It raises nothing, like
        `anyio.move_on_after`."""
        return _Until(self._scopes, deadline, self._set)

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
        for scope in self._scopes:
            self._set(scope)

    def _set(self, scope: anyio.CancelScope) -> None:
        import anyio

        scope.deadline = float("inf") if self._holding else anyio.current_time() + self._scopes[scope] - self.now()


class _Until:
    """See `Clock.until`. A class, and no generator: one is around every call."""

    __slots__ = ("_deadline", "_scope", "_scopes", "_set")

    def __init__(
        self,
        scopes: dict[anyio.CancelScope, float],
        deadline: float,
        set_deadline: Callable[[anyio.CancelScope], None],
    ) -> None:
        self._scopes = scopes
        self._deadline = deadline
        self._set = set_deadline

    def __enter__(self) -> anyio.CancelScope:
        import anyio

        scope = self._scope = anyio.CancelScope()
        self._scopes[scope] = self._deadline
        self._set(scope)
        scope.__enter__()
        return scope

    def __exit__(self, *raised: Any) -> bool | None:
        del self._scopes[self._scope]
        return self._scope.__exit__(*raised)
