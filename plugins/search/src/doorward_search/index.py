"""The search index of all servers: for each word, the functions that have it, and how well.

A word counts by BM25F: how often it is in a field, by the weight of the field, less in a long one; then saturated. What
depends on other servers is left out of that: the usual length of a field is a constant, so that a new server changes
no ranking of functions that share no word with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from doorward.searching import STOP_WORDS, Phrase, split_words, stem
from numpy.typing import NDArray

from doorward_search.document import FIELDS
from doorward_search.segment import MAX_COUNT, PLAIN, WRITTEN, Segment


class Field(NamedTuple):
    """How much a word counts in a field, the usual number of words there, and how much a longer one takes away."""

    weight: float
    words: float
    length: float


_FIELDS = {
    "name": Field(3, 3, 0.3),
    "summary": Field(2, 9, 0.5),
    "description": Field(1, 30, 0.6),
    "route": Field(1.5, 4, 0.4),
    "tags": Field(1, 2, 0.3),
    "parameters": Field(1, 5, 0.6),
    "notes": Field(0.5, 40, 0.7),
    "server": Field(2, 1, 0),
    "results": Field(0.2, 20, 0.6),
    "questions": Field(1, 30, 0.6),
}
_BRIEF = ("name", "summary", "route", "tags", "server")
"""The fields that say briefly what a function is."""

SATURATION = 3.0
"""k1 of BM25F: how soon more of a word counts no more."""

MOST_TIMES = 2
"""To repeat a word in a field more often gains nothing."""

_WRITTEN = Field(1, 60, 0.75)
_WRITTEN_SATURATION = 1.2
"""Plain BM25 as everyone has it, over all words of a function as they are written."""

_VERBS = "list get read show find retrieve create add update replace patch put post delete remove set"
FREE_WORDS = STOP_WORDS | {stem(verb) for verb in _VERBS.split()} | {"v1", "v2", "v3", "rest", "api"}
"""Words in so many names that a question need not say them."""

IN_NAME, IN_SUMMARY, IN_BRIEF, IN_TEXTS = 1, 2, 4, 8
"""Where a word is. `IN_TEXTS`: not only in the fields of a result."""

_IS_BRIEF = np.array([name in _BRIEF for name in FIELDS] + [False])
_PLACE = np.array(
    [
        (name == "name") * IN_NAME + (name == "summary") * IN_SUMMARY + (name in _BRIEF) * IN_BRIEF
        + (name != "results") * IN_TEXTS
        for name in (*FIELDS, "")
    ],
    np.uint8,
)  # fmt: skip
_MOST_TIMES = np.array([MOST_TIMES] * len(FIELDS) + [MAX_COUNT], np.uint8)
"""Of each field, and of that of words as they are written, which is none of `FIELDS`: whether it is brief, where it is,
and how often a word in it counts."""

Array = NDArray[Any]


class Postings(NamedTuple):
    """The functions that have a word, ordered; how well, up to 1, in all fields and in the brief ones; where."""

    functions: Array
    full: Array
    brief: Array
    places: Array

    def place(self, function: int) -> int | None:
        """Where a function has it; None if it does not."""
        at = int(np.searchsorted(self.functions, function))
        return int(self.places[at]) if at < self.functions.size and self.functions[at] == function else None


NO_POSTINGS = Postings(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32), np.empty(0, np.uint8))


class Index:
    """All segments as one. A function is a number here: its place among all functions, ordered by server and document.

    `tie` has the order of functions that fit equally well: short names first, then short names of servers. `called` has
    the servers by the words of their names. `questions` has for a server, by the names of functions, the words that
    models wrote about them."""

    def __init__(self, segments: Mapping[str, Segment], questions: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self.servers = tuple(sorted(segments))
        parts = [segments[server] for server in self.servers]
        self.first = np.cumsum([0, *(len(part.names) for part in parts)])
        self.size = int(self.first[-1])
        self.server_of = np.repeat(np.arange(len(parts)), np.diff(self.first))
        self.names = [name for part in parts for name in part.names]
        self.tags = [tags for part in parts for tags in part.tags]
        self.kinds = _joined([part.kinds for part in parts], np.uint16)
        self.read_only = _joined([part.read_only for part in parts], bool)
        self.deprecated = _joined([part.deprecated for part in parts], bool)
        self.same = np.concatenate([part.same for part in parts] or [np.empty((0, 5), np.uint64)])
        self.tie = np.argsort(sorted(range(self.size), key=self._shortness))
        self.called: dict[str, list[int]] = {}
        for number, server in enumerate(self.servers):
            for word in set(map(stem, split_words(server))):
                self.called.setdefault(word, []).append(number)
        self._places = {self.qualified(number): number for number in range(self.size)}
        self._numbers: dict[str, int] = {}
        self._join(parts, questions)

    def _join(self, parts: Sequence[Segment], questions: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        """Sort the entries of all segments by word and function, and add up what each function has of a word."""
        numbers = self._numbers
        words, functions, fields, counts, lengths = [], [], [], [], []
        for part, first in zip(parts, self.first, strict=False):
            entries = part.entries
            ids = np.array([numbers.setdefault(word, len(numbers)) for word in entries.words], np.int64)
            words.append(np.repeat(ids, entries.starts[1:] - entries.starts[:-1]))
            functions.append(entries.functions.astype(np.int64) + first)
            fields.append(entries.fields)
            counts.append(entries.counts)
            lengths.append(part.lengths[entries.functions, entries.fields])
        for word, function, count, length in self._asked(questions):
            words.append(np.array([numbers.setdefault(word, len(numbers))], np.int64))
            functions.append(np.array([function], np.int64))
            fields.append(np.array([FIELDS.index("questions")], np.uint8))
            counts.append(np.array([count], np.uint8))
            lengths.append(np.array([length], np.uint16))
        key = _joined(words, np.int64) * max(self.size, 1) + _joined(functions, np.int64)
        # those of one segment are in order
        order = np.argsort(key, kind="stable") if len(words) > 1 else slice(None)
        key, field = key[order], _joined(fields, np.uint8)[order].astype(np.intp)  # as numpy looks it up in tables
        worth = _worth(field, _joined(counts, np.uint8)[order], _joined(lengths, np.uint16)[order])
        brief, place = _IS_BRIEF[field], _PLACE[field]
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if key.size else np.empty(0, np.int64)
        total = np.add.reduceat(worth, starts) if key.size else worth
        saturation = np.where(field[starts] == PLAIN, _WRITTEN_SATURATION, SATURATION)
        in_brief = np.add.reduceat(worth * brief, starts) if key.size else worth
        of_word = key[starts] // max(self.size, 1)
        self._functions = (key[starts] % max(self.size, 1)).astype(np.int32)
        self._full = (total / (total + saturation)).astype(np.float32)
        self._brief = (in_brief / (in_brief + SATURATION)).astype(np.float32)
        self._where = np.bitwise_or.reduceat(place, starts) if key.size else place
        self._starts = np.searchsorted(of_word, np.arange(len(numbers) + 1))
        self.name_words, self.summary_words = self._counted(of_word, IN_NAME), self._counted(of_word, IN_SUMMARY)

    def _asked(self, questions: Mapping[str, Mapping[str, Sequence[str]]]) -> list[tuple[str, int, int, int]]:
        """What models wrote, as entries: word, function, count, length."""
        return [
            (word, self._places[server, name], 1, len(words))
            for server, of_server in questions.items()
            for name, words in of_server.items()
            if (server, name) in self._places
            for word in dict.fromkeys(words)
        ]

    def _counted(self, of_word: Array, place: int) -> Array:
        """How many words the names or the summaries of functions have that a question may explain, at least one."""
        free = np.isin(of_word, [self._numbers[w] for w in FREE_WORDS if w in self._numbers])
        counts = np.bincount(self._functions[(self._where & place > 0) & ~free], minlength=self.size)
        return np.maximum(counts, 1).astype(np.float32)

    def _shortness(self, function: int) -> tuple[int, int, tuple[str, str]]:
        server, name = self.qualified(function)
        return len(name), len(server), (server, name)

    def postings(self, word: str) -> Postings:
        """The functions that have a word, which is a stem, or a word as it is written behind `WRITTEN`."""
        number = self._numbers.get(word)
        if number is None:
            return NO_POSTINGS
        part = slice(self._starts[number], self._starts[number + 1])
        return Postings(self._functions[part], self._full[part], self._brief[part], self._where[part])

    def having(self, phrase: Phrase) -> Postings:
        """The functions that have all words of a phrase, each as well as the worst of them."""
        found = self.postings(phrase[0])
        for word in phrase[1:]:
            other = self.postings(word)
            functions, here, there = np.intersect1d(
                found.functions, other.functions, assume_unique=True, return_indices=True
            )
            found = Postings(
                functions,
                np.minimum(found.full[here], other.full[there]),
                np.minimum(found.brief[here], other.brief[there]),
                found.places[here] & other.places[there],
            )
        return found

    def qualified(self, function: int) -> tuple[str, str]:
        """The server and the name of a function."""
        return self.servers[self.server_of[function]], self.names[function]

    def number(self, server: str, name: str) -> int | None:
        """The number of a function."""
        return self._places.get((server, name))

    def only(self, servers: Sequence[str], read_only: bool | None, tags: Sequence[str]) -> Array | None:
        """Which functions are of these servers, read only or do not, and have all of these tags; `*` at the end of one
        stands for more. `None` if all are."""
        wanted = set(servers)
        asked = np.fromiter((server in wanted for server in self.servers), bool, len(self.servers))
        if asked.all() and read_only is None and not tags:
            return None
        among = asked[self.server_of]
        if read_only is not None:
            among &= self.read_only == read_only
        for tag in tags:
            among &= np.array([_tagged(tags, tag) for tags in self.tags], bool)
        return among

    def knows(self, word: str) -> bool:
        return word in self._numbers

    @cached_property
    def stems(self) -> list[str]:
        """All stems, sorted."""
        return sorted(word for word in self._numbers if not word.startswith(WRITTEN))

    @cached_property
    def written(self) -> Mapping[str, Sequence[str]]:
        """For each stem, the words that have it, as functions write them."""
        found: dict[str, list[str]] = {}
        for word in self._numbers:
            if word.startswith(WRITTEN):
                found.setdefault(stem(bare := word.removeprefix(WRITTEN)), []).append(bare)
        return found


def _tagged(tags: Sequence[str], asked: str) -> bool:
    if asked.endswith("*"):
        return any(tag.startswith(asked[:-1]) for tag in tags)
    return asked in tags


def _joined(arrays: Sequence[Array], kind: Any) -> Array:
    return np.concatenate([np.empty(0, kind), *arrays]).astype(kind, copy=False)


def _worth(field: Array, counts: Array, lengths: Array) -> Array:
    """What each entry counts, before it is saturated. There are millions, so no array is made that is not needed."""
    known = [*(_FIELDS[name] for name in FIELDS), _WRITTEN]
    weight, usual, share = (np.array(column, np.float64) for column in zip(*known, strict=True))
    length = share[field]
    length *= lengths
    length /= usual[field]
    length += (1 - share)[field]
    worth = weight[field]
    worth *= np.minimum(counts, _MOST_TIMES[field])
    worth /= length
    return worth
