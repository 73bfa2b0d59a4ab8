"""The kinds of lessons, and how much one still counts."""

from __future__ import annotations

from typing import NamedTuple

WORD, WITH, FLOW = "word", "with", "flow"
"""`WORD`: a word led to a function. `WITH`: two functions were called in one run. `FLOW`: a parameter (`FUNCTION NAME`)
took what a field (`FUNCTION FIELD`) gave."""

EVERYONE = "*"
"""Whose lessons are everybody's, where the configuration says so."""

HALF_LIFE_SECONDS = 30 * 86400.0
"""In this time a word loses half of what it counts."""

FORGOTTEN_SECONDS = 180 * 86400.0
"""A lesson that nothing has confirmed for so long is removed."""


class Lesson(NamedTuple):
    """What was learned: a stem and the function that it led to, two functions, or a parameter and a field."""

    kind: str
    subject: str
    object: str


class Amount(NamedTuple):
    """How often a lesson was given, and when last, in seconds since the epoch. That of a word is less than one for each
    time, and fades."""

    times: float
    last: float

    def of_word(self, now: float) -> float:
        """What is left of it for a word."""
        return float(self.times * 2.0 ** (-max(0.0, now - self.last) / HALF_LIFE_SECONDS))

    def is_forgotten(self, now: float) -> bool:
        return now - self.last > FORGOTTEN_SECONDS


def more(kind: str, known: Amount | None, new: Amount) -> Amount:
    """What a lesson amounts to when it is given again."""
    if known is None:
        return new
    before = known.of_word(new.last) if kind == WORD else known.times
    return Amount(before + new.times, max(known.last, new.last))
