"""Work of plugins that does not end when it is cancelled is left behind: it must not keep a run, or this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

LEAVE_SECONDS = 5.0
"""Seconds that work may take to end once it is cancelled."""

MOST_CANCELLATIONS = 100
"""Cancellations that work may take before it is left behind: a scope cancels again and again."""


class cancellable(Generic[T]):
    """Awaits `work`. Once it goes on for too long after it was cancelled, it is left where it is, and `left` is called.

    It is no task of its own: that would cost each call a turn of the loop. Work that awaits work of other plugins gets
    `patience` for several: theirs is left first.
    """

    __slots__ = ("_left", "_patience", "_work")

    def __init__(self, work: Awaitable[T], left: Callable[[], object], patience: int = 1) -> None:
        self._work, self._left, self._patience = work, left, patience

    def __await__(self) -> Generator[Any, Any, T]:
        steps: Any = self._work.__await__()
        try:
            waits = steps.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        while True:
            try:
                given = yield waits
            except asyncio.CancelledError as error:
                return (yield from self._cancelled(steps, error))
            except BaseException as error:
                step: Callable[[Any], Any] = steps.throw
                given = error
            else:
                step = steps.send
            try:
                waits = step(given)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def _cancelled(self, steps: Any, first: BaseException) -> Generator[Any, Any, T]:
        """Hand on a cancellation, and those that follow, until the work ends or is left."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        seconds, most = LEAVE_SECONDS * self._patience, MOST_CANCELLATIONS * self._patience
        ends, fired, taken = time.monotonic() + seconds, False, 0
        step, given = steps.throw, first

        def again() -> None:
            nonlocal fired
            if task is not None:
                fired = task.cancel()

        timer = loop.call_later(seconds, again)
        try:
            while True:
                waits = step(given)
                try:
                    step, given = steps.send, (yield waits)
                except BaseException as error:
                    step, given = steps.throw, error
                    taken += isinstance(error, asyncio.CancelledError)
                    if fired or taken > most or time.monotonic() > ends:
                        break
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            timer.cancel()
            if fired and task is not None:
                task.uncancel()
        self._left()
        with suppress(Exception, asyncio.CancelledError):
            steps.close()
        raise first
