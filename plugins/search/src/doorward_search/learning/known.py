"""What is known of one principal, ready to be asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from doorward_search.learning.lessons import WITH, WORD, Amount, Lesson, more

OFTEN_TIMES, MAX_OFTEN_WITH = 3, 3
"""Runs that called two functions before one is told beside the other; and functions that are told."""

SURE_TIMES = 2
"""Runs in which a value was passed on before that is told: once may be by chance."""


class Passed(NamedTuple):
    """In so many runs, a field of `producer` became an argument of a function. The producer is `server.name`."""

    parameter: str
    producer: str
    field: str
    times: int

    @property
    def confidence(self) -> float:
        """How sure it is that the producer gives what is needed: 0.7 after two runs, more after more."""
        return float(round(1.0 - 0.6 * 2.0 ** (-self.times / 2.0), 2))


class Known:
    """The lessons of one principal. `words` has the functions that each word led to; `revision` changes with them."""

    def __init__(self, lessons: Iterable[tuple[Lesson, Amount]], now: float) -> None:
        self.words: dict[str, dict[str, Amount]] = {}
        self.revision = 0
        self._with: dict[str, dict[str, int]] = {}
        self._flows: dict[str, dict[tuple[str, str, str], int]] = {}
        for lesson, amount in lessons:
            if not amount.is_forgotten(now):
                self.add(lesson, amount)

    def add(self, lesson: Lesson, amount: Amount) -> None:
        """Add what was learned just now."""
        self.revision += 1
        if lesson.kind == WORD:
            theirs = self.words.setdefault(lesson.subject, {})
            theirs[lesson.object] = more(WORD, theirs.get(lesson.object), amount)
        elif lesson.kind == WITH:
            for one, other in ((lesson.subject, lesson.object), (lesson.object, lesson.subject)):
                near = self._with.setdefault(one, {})
                near[other] = near.get(other, 0) + round(amount.times)
        else:
            function, _, parameter = lesson.subject.partition(" ")
            producer, _, field = lesson.object.partition(" ")
            edges = self._flows.setdefault(function, {})
            edge = parameter, producer, field
            edges[edge] = edges.get(edge, 0) + round(amount.times)

    def often_with(self, function: str) -> list[str]:
        """The functions that runs called beside this one, the most frequent first."""
        near = self._with.get(function, {})
        return sorted((f for f in near if near[f] >= OFTEN_TIMES), key=lambda f: (-near[f], f))

    def passed_to(self, function: str) -> list[Passed]:
        """What runs passed to this function, the surest first."""
        edges = self._flows.get(function, {})
        found = [Passed(*edge, times) for edge, times in edges.items() if times >= SURE_TIMES]
        return sorted(found, key=lambda passed: (-passed.times, passed))

    def consumers(self) -> list[str]:
        """The functions to which something was passed."""
        return sorted(self._flows)
