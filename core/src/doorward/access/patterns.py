"""Patterns of names, read once: how many there are costs nothing when a name is held against them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate

_WILD = re.compile(r"[*?\[]")


def is_wild(pattern: str) -> bool:
    """Whether a pattern may mean more than the name that it reads."""
    return _WILD.search(pattern) is not None


class Patterns:
    """Names, and patterns with wildcards as `fnmatch` has them. A name is looked up among them all, then held against
    one expression of those with wildcards, which is made when it is first needed."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.written = frozenset(patterns)
        self._wild = sorted(filter(is_wild, self.written))
        self._expression: re.Pattern[str] | None = None

    def fit(self, *names: str) -> bool:
        """Whether any pattern means any of the names."""
        if not self.written.isdisjoint(names):
            return True
        if not self._wild:
            return False
        if self._expression is None:
            self._expression = re.compile("|".join(map(translate, self._wild)))
        return any(map(self._expression.match, names))

    def idle(self, names: Collection[str]) -> set[str]:
        """The patterns that mean none of the names."""
        return {p for p in self.written.difference(names) if not Patterns([p]).fit(*names)}
