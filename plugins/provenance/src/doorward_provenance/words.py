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
_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = {name: number for number, name in enumerate(_NAMES.split(), 1)}
_MONTH = rf"((?:{'|'.join(_MONTHS)})[a-z]{{0,6}})\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DAY_FIRST = re.compile(rf"\b{_DAY} (?:of )?{_MONTH},? (\d{{4}})\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY},? (\d{{4}})\b", re.IGNORECASE)
_SLASHES = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")
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


def dates(text: str) -> set[str]:
    """The dates that a text has in words or with slashes (5th of May 2024, May 5, 2024, 5/5/2024), as `2024-05-05`.
    Where nobody can tell which number is the month, both are there."""
    found = set()
    for day, month, year in _DAY_FIRST.findall(text):
        found.add((year, month, day))
    for month, day, year in _MONTH_FIRST.findall(text):
        found.add((year, month, day))
    for one, other, year in _SLASHES.findall(text):
        found |= {(year, one, other), (year, other, one)}
    numbered = ((year, _MONTHS.get(month[:3].lower()) or int(month), int(day)) for year, month, day in found)
    return {f"{year}-{month:02}-{day:02}" for year, month, day in numbered if month <= 12 and day <= 31}


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
