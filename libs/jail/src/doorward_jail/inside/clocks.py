"""The clocks of a program. What it reads is kept and told to the host, so that it reads the same if it is run again.

Of steady clocks only what the program itself reads is kept: libraries read them as often as it happens to be necessary,
which is another number each time.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

MOST = 10_001
"""Of one run, are told; the host wants 10,000."""

_day, _ticks = time.time, time.monotonic
_localtime, _gmtime, _asctime, _strftime = time.localtime, time.gmtime, time.asctime, time.strftime
_clock_gettime, _clock_gettime_ns = time.clock_gettime, time.clock_gettime_ns


class Clocks:
    """What the module `time` offers, and `datetime.now`. Methods of this object take the places of the functions: like
    these, and unlike functions in Python, they stay what they are as attributes of classes. `program` is the scope of
    programs."""

    def __init__(self) -> None:
        self.program: dict[str, Any] = {}
        self._given: deque[float] = deque()
        self._read: list[float] = []
        self._room = 0
        self._ahead = 0.0

    def install(self) -> None:
        """Take the places of the functions. Once, before other modules take the functions from there."""
        for name in (
            "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "localtime", "gmtime",
            "ctime", "asctime", "strftime", "clock_gettime", "clock_gettime_ns",
        ):  # fmt: skip
            setattr(time, name, getattr(self, name))
        (methods,) = gc.get_referents(datetime.datetime.__dict__)  # a class in C, which cannot be set from here
        methods["now"] = classmethod(lambda of, tz=None: of.fromtimestamp(self.time(), tz))
        methods["utcnow"] = classmethod(
            lambda of: of.fromtimestamp(self.time(), datetime.timezone.utc).replace(tzinfo=None)
        )
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))
        os.register_at_fork(after_in_child=self.stop)

    def begin(self, given: Sequence[float]) -> None:
        """Begin a run, which reads these times first."""
        self._given = deque(given)
        self._room = MOST - len(given)
        self._read.clear()

    def stop(self) -> None:
        """Keep nothing: this is another process, which cannot tell the host."""
        self._given.clear()
        self._room = 0

    def untold(self) -> list[float]:
        """What was read since the last time, to be told now."""
        if not self._read:
            return []
        read, self._read = self._read, []
        return read

    def not_told(self, read: list[float]) -> None:
        """Tell it another time: it could not be told."""
        self._read[:0] = read

    def _kept(self, now: float) -> float:
        if self._room > 0:
            self._room -= 1
            self._read.append(now)
        return now

    # The time of day

    def time(self) -> float:
        return self._given.popleft() if self._given else self._kept(_day())

    def time_ns(self) -> int:
        return int(self.time() * 1e9)

    def localtime(self, seconds: float | None = None, /) -> Any:
        return _localtime(self.time() if seconds is None else seconds)

    def gmtime(self, seconds: float | None = None, /) -> Any:
        return _gmtime(self.time() if seconds is None else seconds)

    def ctime(self, seconds: float | None = None, /) -> str:
        return _asctime(self.localtime(seconds))

    def asctime(self, at: Any = None, /) -> str:
        return _asctime(self.localtime() if at is None else at)

    def strftime(self, format: str, at: Any = None, /) -> str:
        return _strftime(format, self.localtime() if at is None else at)

    def clock_gettime(self, clock: int, /) -> float:
        return self.time() if clock == time.CLOCK_REALTIME else _clock_gettime(clock)

    def clock_gettime_ns(self, clock: int, /) -> int:
        return self.time_ns() if clock == time.CLOCK_REALTIME else _clock_gettime_ns(clock)

    # Steady clocks. They go on from the last time that was given, and never back.

    def monotonic(self) -> float:
        return self._steady() if sys._getframe(1).f_globals is self.program else _ticks()

    def monotonic_ns(self) -> int:
        return int((self._steady() if sys._getframe(1).f_globals is self.program else _ticks()) * 1e9)

    perf_counter, perf_counter_ns = monotonic, monotonic_ns

    def _steady(self) -> float:
        if not self._given:
            return self._kept(_ticks() + self._ahead)
        given = self._given.popleft()
        self._ahead = given - _ticks()
        return given
