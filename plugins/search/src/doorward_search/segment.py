"""The search index of one server: made at compile, stored as bytes, and joined with those of others to be searched."""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from doorward import Function
from doorward.searching import stem
from doorward.values import effect
from numpy.typing import NDArray
from pydantic_core import from_json, to_json

from doorward_search.document import FIELDS, KINDS, document
from doorward_search.numbered_words import WORD_BYTES, NumberedWords
from doorward_search.result_words import ResultWords

VERSION = 3
"""Of the form of the bytes. A segment of another version is made anew of the stored functions."""

RESULTS, PLAIN = FIELDS.index("results"), len(FIELDS)
"""The words of results, and the field of all other words of a function as they are written, marked with `WRITTEN`, for
plain BM25."""

WRITTEN = "="
"""Stands before a word as it is written. No stem has a sign in it."""

MAX_COUNT, MAX_LENGTH = 255, 65_535
"""Counts of a word in a field, and of the words in one, that are told apart."""

Array = NDArray[Any]


class Entries(NamedTuple):
    """Where each of `words` is: `starts[i]` to `starts[i + 1]` are the entries of word `i`, ordered by function, each
    with the number of the function in its server, the field, and how often the word is in it."""

    words: list[str]
    starts: Array
    functions: Array
    fields: Array
    counts: Array


@dataclass(frozen=True, slots=True)
class Segment:
    """What is known of a server's functions, in the order of its document. `kinds` has a bit for each of `KINDS`;
    `same` has the digests of a function's name, id, route, summary and qualified name; `lengths` the words of each
    field."""

    names: list[str]
    tags: list[list[str]]
    kinds: Array
    read_only: Array
    deprecated: Array
    same: Array
    lengths: Array
    entries: Entries


def segment(functions: Sequence[Function], results: ResultWords | None = None) -> Segment:
    """The index of a server's functions. `results` knows the words of their answers."""
    documents, words = [document(function) for function in functions], NumberedWords()
    texts = []
    for function, one in zip(functions, documents, strict=True):
        for field in FIELDS:
            if field in one.words:
                texts.append(words.numbered(one.words[field]))
            elif field in one.texts:
                texts.append(words.of(one.texts[field]))
            else:
                texts.append(words.listed(results.of(function)) if field == "results" and results else b"")
    sizes = np.fromiter(map(len, texts), np.int64, len(texts)) // WORD_BYTES
    by_field = sizes.reshape(-1, len(FIELDS))
    return Segment(
        names=[function.name for function in functions],
        tags=[list(one.tags) for one in documents],
        kinds=np.array([sum(1 << KINDS.index(kind) for kind in one.kinds) for one in documents], np.uint16),
        read_only=np.array([effect(function) == "read" for function in functions], bool),
        deprecated=np.array([function.deprecated for function in functions], bool),
        same=np.array([[*map(digest, one.same)] for one in documents], np.uint64).reshape(-1, 5),
        lengths=np.minimum(np.c_[by_field, by_field.sum(axis=1) - by_field[:, RESULTS]], MAX_LENGTH).astype(np.uint16),
        entries=_entries(words, np.frombuffer(b"".join(texts), np.uint32), sizes),
    )


def _entries(words: NumberedWords, ids: Array, sizes: Array) -> Entries:
    """The entries of the words of all texts by their numbers, so many for each field of each function. What is done for
    each word is done by numpy; there are hundreds for each function."""
    numbers = words.numbers
    stems: defaultdict[str, int] = defaultdict(count().__next__)
    stem_of = np.fromiter((stems[stem(word)] for word in numbers), np.int64, len(numbers))
    stemmed, written = (len(stems), len(numbers))
    every = max(1, len(sizes) // len(FIELDS))
    functions, fields = np.divmod(np.arange(len(sizes)), len(FIELDS))
    step, said = every * (PLAIN + 1), np.repeat(fields != RESULTS, sizes)
    kind = np.min_scalar_type(max(1, stemmed + written) * step)  # small numbers are sorted sooner
    place = (functions * (PLAIN + 1)).astype(kind)
    first_of_stem, first_of_word = ((of * step).astype(kind) for of in (stem_of, np.arange(written) + stemmed))
    key = np.concatenate(
        [
            first_of_stem[ids] + np.repeat(place + fields.astype(kind), sizes),
            first_of_word[ids[said]] + np.repeat(place + kind.type(PLAIN), sizes)[said],
        ]
    )
    found, counts = np.unique(key, return_counts=True)
    found, fields = np.divmod(found, PLAIN + 1)
    of_words, functions = np.divmod(found, every)
    starts = np.searchsorted(of_words, np.arange(stemmed + written + 1)).astype(np.uint32)
    return Entries(
        [*stems, *(WRITTEN + word for word in numbers)],
        starts,
        functions.astype(np.min_scalar_type(every)),
        fields.astype(np.uint8),
        np.minimum(counts, MAX_COUNT).astype(np.uint8),
    )


def digest(words: Iterable[str]) -> int:
    """A number for some words, in whatever order; 0 for none. Nobody can find other words for the number of a question,
    and come first for it."""
    text = " ".join(sorted(words))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) if text else 0


# As bytes


_ARRAYS = ("kinds", "read_only", "deprecated", "same", "lengths")
_OF_ENTRIES = ("starts", "functions", "fields", "counts")


def packed(of: Segment) -> bytes:
    """A segment as bytes: a line of JSON, then the arrays one after another, compressed."""
    arrays = {name: getattr(of, name) for name in _ARRAYS} | {name: getattr(of.entries, name) for name in _OF_ENTRIES}
    head = {
        "version": VERSION,
        "names": of.names,
        "tags": of.tags,
        "words": " ".join(of.entries.words),
        "arrays": [(name, array.dtype.str, array.shape) for name, array in arrays.items()],
    }
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    return zlib.compress(to_json(head) + b"\n" + body, 1)


def unpacked(raw: bytes) -> Segment | None:
    """The segment of these bytes; `None` if they are of another version. Raises: ValueError."""
    try:
        head, _, body = zlib.decompress(raw).partition(b"\n")
        about = from_json(head)
        if about["version"] != VERSION:
            return None
        arrays, at = {}, 0
        for name, kind, shape in about["arrays"]:
            size = int(np.prod(shape)) * np.dtype(kind).itemsize
            arrays[name] = np.frombuffer(body[at : at + size], kind).reshape(shape)
            at += size
        entries = Entries(about["words"].split(" ") if about["words"] else [], *(arrays[name] for name in _OF_ENTRIES))
        return Segment(about["names"], about["tags"], **{name: arrays[name] for name in _ARRAYS}, entries=entries)
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"no segment of a search index: {type(error).__name__}") from None
