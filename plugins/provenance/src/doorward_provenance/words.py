"""Values as words: how a text is compared with another one, however it is written and quoted."""

from __future__ import annotations

import re
import secrets
import unicodedata
from array import array
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

MOST_LEAVES = 20_000
"""Leaves of one value that are looked at."""
MOST_WORDS = 50_000
"""Words of one value that are looked at."""

_WORD = re.compile(r"\w+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_KEY = secrets.token_hex(8)
HASH_BYTES = 8
"""Bytes of a hash."""


def plain(text: str) -> str:
    """A text without case, form and what nobody sees: NFKC of Unicode, folded."""
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()


def leaves(value: Any) -> Iterator[tuple[str, str | int | float]]:
    """The texts and numbers in a JSON value, each with its path (`to[0]`); keys count as texts of their object."""
    return islice(_leaves(value, ""), MOST_LEAVES)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, value


def parameter_of(path: str) -> str:
    """The parameter to which the path of a leaf belongs."""
    return path.split(".", 1)[0].split("[", 1)[0]


def hashes(text: str) -> list[int]:
    """Its words as numbers that mean nothing outside of this process: a keyed hash of each."""
    return [hash(_KEY + word) for word in islice(_words(text), MOST_WORDS)]


def whole(value: str | float) -> int:
    """The keyed hash of a leaf as a whole."""
    return hash(f"{_KEY}={plain(str(value)).strip()}")


def _words(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(plain(text)))


def packed(numbers: list[int]) -> bytes:
    """Hashes behind each other."""
    return array("q", numbers).tobytes()


class Phrases:
    """Texts of which one can ask whether they have some words in a row. It holds hashes, never a text."""

    def __init__(self) -> None:
        self._packed = b""

    def add(self, text: str) -> None:
        """Add a text; words of two texts are never in a row."""
        self._packed += packed([*hashes(text), 0])

    def __len__(self) -> int:
        return len(self._packed) // HASH_BYTES

    def has(self, words: list[int]) -> bool:
        """Whether a text has these words in a row."""
        wanted = packed(words)
        at = self._packed.find(wanted)
        while at > 0 and at % HASH_BYTES:
            at = self._packed.find(wanted, at + 1)
        return at >= 0
