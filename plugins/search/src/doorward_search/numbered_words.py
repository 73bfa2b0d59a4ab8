"""The words of texts as numbers: each text, and each piece of one between blanks, is split once."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count

from doorward.searching import split_words

_KIND = "I"
WORD_BYTES = array(_KIND).itemsize
"""Bytes of a number. Numbers are kept as bytes, which are joined faster than anything else."""


class NumberedWords:
    """`numbers` has the words that were seen, in the order in which they were."""

    def __init__(self) -> None:
        self.numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._pieces = _Pieces(self.numbers)
        self._texts: dict[str, bytes] = {}
        self._lists: dict[int, tuple[Sequence[str], bytes]] = {}

    def numbered(self, words: Iterable[str]) -> bytes:
        """The numbers of some words."""
        return _numbered(words, self.numbers)

    def listed(self, words: Sequence[str]) -> bytes:
        """The same for a list that many functions share."""
        known = self._lists.get(id(words))
        if known is None:
            known = self._lists[id(words)] = words, self.numbered(words)  # keeping it prevents its id from being reused
        return known[1]

    def of(self, texts: Iterable[str]) -> bytes:
        """The numbers of all words of some texts: no word has a blank in it."""
        return b"".join([self._texts.get(text) or self._split(text) for text in texts])

    def _split(self, text: str) -> bytes:
        found = self._texts[text] = b"".join(map(self._pieces.__getitem__, text.split()))
        return found


_SIGNS = ".,:;!?()[]{}<>`'\"*#"
"""Signs around words, which are in none."""


class _Pieces(dict[str, bytes]):
    """The numbers of the words of each piece of a text."""

    def __init__(self, numbers: defaultdict[str, int]) -> None:
        self._numbers = numbers

    def __missing__(self, piece: str) -> bytes:
        found = self[piece] = _numbered(split_words(piece.strip(_SIGNS)), self._numbers)
        return found


def _numbered(words: Iterable[str], numbers: defaultdict[str, int]) -> bytes:
    return array(_KIND, map(numbers.__getitem__, words)).tobytes()
