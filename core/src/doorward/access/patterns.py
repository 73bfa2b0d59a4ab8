"""Patterns of names, compiled once: to match a name takes the same time, however many patterns there are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import translate

_WILD = re.compile(r"[*?\[]")


def is_wild(pattern: str) -> bool:
    """Whether a pattern has wildcards, and so may match several names."""
    return _WILD.search(pattern) is not None


class Patterns:
    """Names, and patterns with the wildcards of `fnmatch`. A name is looked up among all, then matched with one regular
    expression for those with wildcards, which is compiled when it is first needed."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.written = frozenset(patterns)
        self._wild = sorted(filter(is_wild, self.written))
        self._expression: re.Pattern[str] | None = None

    def fit(self, *names: str) -> bool:
        """Whether any pattern matches any of the names."""
        if not self.written.isdisjoint(names):
            return True
        if not self._wild:
            return False
        if self._expression is None:
            self._expression = re.compile("|".join(map(translate, self._wild)))
        return any(map(self._expression.match, names))

    def idle(self, names: Collection[str]) -> set[str]:
        """The patterns that match none of the names."""
        return {p for p in self.written.difference(names) if not Patterns([p]).fit(*names)}
