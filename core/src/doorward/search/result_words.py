"""The words of what functions answer: the names of the fields of their results, and of the classes of these.

"When was she born" has no word of `GET /person/{person_id}`, but its answer has a `birthday` and a `place_of_birth`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any

from doorward.data.words import split_words
from doorward.describe.schemas import Definitions, Reader, table, variants
from doorward.model.functions import Function

MAX_DEPTH = 1
"""How deep the objects of a result are looked into."""

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
        self._known: dict[tuple[str, int], Words] = {}
        self._nesting = 0

    def of(self, function: Function) -> list[str]:
        """The words of a function's result, each once."""
        self._reader.refuel()
        return [*islice(self._words(function.returns, MAX_DEPTH), MAX_WORDS)]

    def _words(self, schema: Any, depth: int) -> Words:
        if depth < 0 or self._nesting >= MAX_NESTING or not table(schema) or not self._reader.burn():
            return {}
        self._nesting += 1
        try:
            return self._looked_up(schema, depth)
        finally:
            self._nesting -= 1

    def _looked_up(self, schema: Any, depth: int) -> Words:
        name, whole = self._reader.resolve(schema)
        if not name:
            return self._fields(whole, depth)
        if (name, depth) not in self._known:
            self._known[name, depth] = {}  # where a circle of references ends
            own = dict.fromkeys(self._split(name))
            self._known[name, depth] = own | self._fields(whole, depth)
        return self._known[name, depth]

    def _fields(self, whole: Mapping[str, Any], depth: int) -> Words:
        words: Words = {}
        for key, value in islice(self._reader.properties(whole, hidden="writeOnly").items(), MAX_FIELDS):
            words |= dict.fromkeys(self._split(key))
            words |= self._words(value, depth - 1)
        for part in (whole.get("items"), *variants(whole)[:3]):
            words |= self._words(part, depth)
        return words if len(words) <= MAX_WORDS else dict.fromkeys(islice(words, MAX_WORDS))
