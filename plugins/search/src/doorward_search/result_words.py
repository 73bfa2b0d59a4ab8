"""The words of what functions answer: the names of their results' fields, or of their items' fields, and classes.

"When was she born" has no word of `GET /person/{person_id}`, but its answer has a `birthday` and a `place_of_birth`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any

from doorward import Function
from doorward.searching import split_words
from doorward.texts import Definitions, Reader, table, variants

MAX_FIELDS, MAX_WORDS = 60, 200
"""Fields of an object, and words of a result, that are read."""

MAX_NESTING, MAX_NAME_CHARS = 40, 200
"""Schemas within schemas that are followed, such as lists of lists, and characters of a name that are read."""

Words = dict[str, None]


class ResultWords:
    """The words of the results of a server's functions. A definition is read once, however many refer to it.

    `scrub` removes credentials from a text."""

    def __init__(self, definitions: Definitions, scrub: Callable[[str], str] = str) -> None:
        self._reader = Reader(definitions)
        # the same names are in many results
        self._split = cache(lambda name: tuple(split_words(scrub(name)[:MAX_NAME_CHARS])))
        self._known: dict[str, Words] = {}
        self._referred: dict[str, list[str]] = {}
        self._nesting = 0

    def of(self, function: Function) -> list[str]:
        """The words of a function's result, each once."""
        returns = table(function.returns)
        name = returns.get("$ref") if len(returns) == 1 else None  # as most are: the same list for each
        if isinstance(name, str) and name in self._referred:
            return self._referred[name]
        self._reader.refuel()
        found = [*islice(self._words(returns), MAX_WORDS)]
        return self._referred.setdefault(name, found) if isinstance(name, str) else found

    def _words(self, schema: Any) -> Words:
        if self._nesting >= MAX_NESTING or not table(schema) or not self._reader.burn():
            return {}
        self._nesting += 1
        try:
            return self._looked_up(schema)
        finally:
            self._nesting -= 1

    def _looked_up(self, schema: Any) -> Words:
        name, whole = self._reader.resolve(schema)
        if not name:
            return self._fields(whole)
        if name not in self._known:
            self._known[name] = {}  # where a circle of references ends
            self._known[name] = dict.fromkeys(self._split(name)) | self._fields(whole)
        return self._known[name]

    def _fields(self, whole: Mapping[str, Any]) -> Words:
        words: Words = {}
        for key in islice(self._reader.properties(whole, hidden="writeOnly"), MAX_FIELDS):
            words |= dict.fromkeys(self._split(key))
        for part in (whole.get("items"), *variants(whole)[:3]):
            words |= self._words(part)
        return words if len(words) <= MAX_WORDS else dict.fromkeys(islice(words, MAX_WORDS))
