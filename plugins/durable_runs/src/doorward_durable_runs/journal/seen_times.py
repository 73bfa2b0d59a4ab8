"""The times that a program read from its clocks, so that it reads the same if it is run again."""

from __future__ import annotations

from collections.abc import Sequence

MOST_TIMES = 10_000
"""Of one run. A program that reads the time more often cannot be run again as it was."""


class SeenTimes:
    """The times of one run, in the order in which its program read them. `given` are those of an earlier try of the
    same run, which the program reads first."""

    __slots__ = ("_new", "given", "too_many")

    def __init__(self, given: Sequence[float] = ()) -> None:
        self.given = given
        self.too_many = False
        """Whether some are not known: such a run cannot be suspended."""
        self._new: list[float] = []

    @property
    def all(self) -> list[float]:
        """The times to give to the program if it is run again."""
        return [*self.given, *self._new]

    def add(self, times: Sequence[float]) -> None:
        """What the program read since the last time."""
        room = MOST_TIMES - len(self.given) - len(self._new)
        self._new += times[: max(0, room)]
        self.too_many = self.too_many or len(times) > room

    def begin(self) -> None:
        """Forget what was read: the program starts from the beginning."""
        self._new, self.too_many = [], False
