"""What a program asks of clocks and of chance. It is answered from the run's seed, and from the times that the program
read when it ran before: so it sees the same if it is run again."""

from __future__ import annotations

import datetime
import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pydantic_monty as monty

POLICY: monty.OSPolicy = {"sleep": "call_host", "datetime": "call_host", "random_start": "call_host"}

_MANY = 10_001
"""Times of one run that are told; the host wants 10,000. Who reads more gets them more slowly: each costs us time."""

_PAUSE_SECONDS = 0.0002

_UTC = datetime.UTC


class Repeats:
    """The clocks and the chance of one program. They are asked in the thread of its worker, without a way through the
    loop."""

    def __init__(self, seed: bytes, given: Sequence[float]) -> None:
        self._seed = seed
        self._drawn = 0
        self._given = deque(given)
        self._room = _MANY - len(given)
        self.unread: list[float] = []
        """The times that nobody was told yet."""

    def through(self, step: Callable[[], Any], again: Callable[[], None] = lambda: None) -> Callable[[], Any]:
        """The step, and those after it until the worker asks something else; `again` is called before each of them."""

        def steps() -> Any:
            taken = step()
            while isinstance(taken, monty.FunctionSnapshot) and taken.is_os_function:
                match taken.function_name:
                    case "time.time":
                        answer: Any = self._time()
                    case "datetime.now":
                        zone = taken.args[0]
                        now = datetime.datetime.fromtimestamp(self._time(), zone or _UTC)
                        answer = now if zone else now.replace(tzinfo=None)
                    case "date.today":
                        answer = datetime.datetime.fromtimestamp(self._time(), _UTC).date()
                    case "os.urandom":
                        answer = self._random(*taken.args)
                    case _:
                        return taken
                again()
                taken = taken.resume({"return_value": answer})
            return taken

        return steps

    def untold(self) -> list[float]:
        """The times read since the last time."""
        read, self.unread = self.unread, []
        return read

    def _time(self) -> float:
        if self._given:
            return self._given.popleft()
        now = time.time()
        if self._room > 0:
            self._room -= 1
            self.unread.append(now)
        else:
            time.sleep(_PAUSE_SECONDS)
        return now

    def _random(self, size: int) -> bytes:
        if not self._seed:
            return os.urandom(size)
        self._drawn += 1
        return hashlib.shake_256(self._seed + self._drawn.to_bytes(8, "big")).digest(size)
