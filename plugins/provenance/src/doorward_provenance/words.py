"""Values as words: how a text is compared with another one, however it is written and quoted."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

MOST_LEAVES = 20_000
"""Leaves of one value that are looked at."""
MOST_WORDS = 50_000
"""Words of one value that are looked at."""

_WORD = re.compile(r"\w+")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_NAME = re.compile(r"[A-Za-z_$][\w$-]{0,40}")
"""A key that may be what a server calls a field."""
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
    """The texts and numbers in a JSON value, each with its path (`to[0]`); keys that are no names count, too."""
    return islice(_leaves(value, ""), MOST_LEAVES)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not _NAME.fullmatch(str(key)):
                yield path, str(key)
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, int(value) if isinstance(value, float) and value.is_integer() else value


def parameter_of(path: str) -> str:
    """The parameter to which the path of a leaf belongs."""
    return path.split(".", 1)[0].split("[", 1)[0]


class Hashes:
    """Words as numbers that mean nothing without the key: that of this process, or one that several have."""

    def __init__(self, key: bytes = b"") -> None:
        self._keyed = hashlib.blake2b(key=key, digest_size=HASH_BYTES) if key else None

    def words(self, text: str) -> list[int]:
        """The keyed hash of each of its words."""
        return [self._one(word) for word in islice(_words(text), MOST_WORDS)]

    def whole(self, value: str | float) -> int:
        """The keyed hash of a leaf as a whole."""
        return self._one(f"={plain(str(value)).strip()}")

    def _one(self, word: str) -> int:
        if self._keyed is None:
            return hash(_KEY + word)
        keyed = self._keyed.copy()
        keyed.update(word.encode(errors="surrogatepass"))
        return int.from_bytes(keyed.digest(), "little", signed=True)


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


def packed(numbers: Iterable[int]) -> bytes:
    """Hashes behind each other."""
    return array("q", numbers).tobytes()


def unpacked(numbers: bytes) -> list[int]:
    """What was packed."""
    return array("q", numbers).tolist()


class Phrases:
    """Texts of which one can ask whether they have some words in a row. It holds hashes, never a text."""

    def __init__(self, packed: bytes = b"") -> None:
        self.packed = packed

    def add(self, words: list[int]) -> None:
        """Add the words of a text; those of two texts are never in a row."""
        self.packed += packed([*words, 0])

    def __len__(self) -> int:
        return len(self.packed) // HASH_BYTES

    def has(self, words: list[int]) -> bool:
        """Whether a text has these words in a row."""
        wanted = packed(words)
        at = self.packed.find(wanted)
        while at > 0 and at % HASH_BYTES:
            at = self.packed.find(wanted, at + 1)
        return at >= 0
