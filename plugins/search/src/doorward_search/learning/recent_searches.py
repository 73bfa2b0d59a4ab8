"""What principals have searched a short while ago, in memory only: the words and the functions that were found."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

REMEMBERED_SECONDS = 600.0
"""Seconds for which a search is remembered."""

MAX_RUNS = 3
"""Runs of the same principal that it is remembered for; those that call nothing with success do not count."""

MAX_HITS = 20
"""The first of what a search found; further functions it does not raise."""

MAX_SEARCHES, MAX_PRINCIPALS = 20, 1000
"""Searches of a principal, and principals, that are remembered."""


@dataclass(slots=True)
class Search:
    """`credits`: what each word of it counts if it led to a function."""

    credits: Mapping[str, float]
    functions: frozenset[str]
    until: float
    runs_left: int = MAX_RUNS


class RecentSearches:
    """The searches of all principals. `clock` is a monotonic one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._of: OrderedDict[str, OrderedDict[frozenset[str], Search]] = OrderedDict()

    def add(self, principal: str, credits: Mapping[str, float], functions: Iterable[str]) -> None:
        """Remember a search. The next page of one, or the same words again, join it."""
        theirs = self._of.setdefault(principal, OrderedDict())
        self._of.move_to_end(principal)
        words, found, now = frozenset(credits), frozenset(functions), self._clock()
        before = theirs.pop(words, None)
        if before and before.until > now:
            found |= before.functions
        theirs[words] = Search(credits, found, now + REMEMBERED_SECONDS)
        while len(theirs) > MAX_SEARCHES:
            theirs.popitem(last=False)
        while len(self._of) > MAX_PRINCIPALS:
            self._of.popitem(last=False)

    def led_to(self, principal: str, called: Iterable[str]) -> dict[tuple[str, str], float]:
        """What a run that called these functions with success says: a credit for each word and function, once for the
        run, however often it searched and called."""
        theirs = self._of.get(principal)
        now, called = self._clock(), set(called)
        found: dict[tuple[str, str], float] = {}
        for words, search in [*theirs.items()] if theirs and called else ():
            if search.until > now:
                for function in search.functions & called:
                    for word, credit in search.credits.items():
                        found[word, function] = max(credit, found.get((word, function), 0.0))
            search.runs_left -= 1
            if theirs and (search.until <= now or search.runs_left <= 0):
                del theirs[words]
        return found
