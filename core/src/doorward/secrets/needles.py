"""Finds secrets, in all their forms, in one pass over a text whose time does not depend on them.

A search that compares letters is fast where the text differs early and slow where it nearly fits: its time tells the
secret. Here each window of the text is hashed with keys of this process, and a form counts only if its last and its
first window are there, which cover all of it. Nobody without the keys can tell a text that nearly fits from any other.
The work is numpy's, which lets other threads run meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint32]
    Numbers = NDArray[np.int64]

WINDOW_BYTES = (128, 64, 32, 16, 8, 6)
"""Bytes of a form that are looked up, its last and its first: the largest that it has, which is more than half of
it."""
MIN_FORM_BYTES = WINDOW_BYTES[-1]

_DRAWN, _DIGEST_KEY = os.urandom(4 * (256 + 8)), os.urandom(32)
"""The keys of this process. Drawn when it starts: two threads that are the first to search must not draw two."""

_OVERLAP_BYTES = 2 * WINDOW_BYTES[0] - 1
"""Bytes before a piece that are hashed with it: the first window of a form may stand there."""
_PIECE_BYTES = 2**16
"""Of the text at once: its hashes stay in the processor's cache."""
_MIN_HASH_BITS = 16
"""Of a hash, by which windows that are surely none of a form's are passed over; more of them where there are many
forms."""


@dataclass(frozen=True, slots=True)
class Match:
    """A form in a text: where it stands, and the number of the secret that it is one of."""

    start: int
    end: int
    secret: int


class Marks(NamedTuple):
    """Some forms as they are remembered: the hashes of their last and first windows, their lengths, digests of them,
    and the numbers of their secrets. The forms themselves are not kept."""

    tails: Hashes
    heads: Hashes
    lengths: Numbers
    digests: Sequence[bytes]
    secrets: Numbers


def warm_up() -> None:
    """Import numpy ahead, which takes a tenth of a second, in a thread: the first secret is met in the event loop."""
    _keys()


class Forms:
    """The forms of one secret, by the sizes of their windows."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        import numpy as np

        found: dict[int, list[bytes]] = {}
        for form in {form for form in forms if len(form) >= MIN_FORM_BYTES}:
            found.setdefault(next(w for w in WINDOW_BYTES if len(form) >= w), []).append(form)
        self.by_window = {
            window: Marks(
                _each(window, [form[-window:] for form in those]),
                _each(window, [form[:window] for form in those]),
                np.array([len(form) for form in those], np.int64),
                [_digest(form) for form in those],
                np.zeros(len(those), np.int64),
            )
            for window, those in found.items()
        }


class Needles:
    """The forms of some secrets, to be found together. Never changed once it is made: threads may share it."""

    def __init__(self, secrets: Sequence[Forms]) -> None:
        self.secrets = len(secrets)
        self._tables = [_Table(w, secrets) for w in WINDOW_BYTES if any(w in forms.by_window for forms in secrets)]
        self._longest = max((table.window for table in self._tables), default=0)

    def __bool__(self) -> bool:
        return bool(self._tables)

    def find(self, text: bytes) -> Iterator[Match]:
        """All forms in a text."""
        if not self._tables:
            return
        for begin in range(0, len(text), _PIECE_BYTES):
            start = max(0, begin - _OVERLAP_BYTES)
            hashes = _hashes(memoryview(text)[start : begin + _PIECE_BYTES], self._longest)
            for table in self._tables:
                yield from table.matches(text, hashes[table.window], start, begin)


class _Table:
    """The forms of one size of windows, sorted by the hash of their last one."""

    def __init__(self, window: int, secrets: Sequence[Forms]) -> None:
        import numpy as np

        found = [(number, forms.by_window[window]) for number, forms in enumerate(secrets) if window in forms.by_window]
        self.window = window
        tails = np.concatenate([marks.tails for _, marks in found])
        order = np.argsort(tails, kind="stable")
        digests = [digest for _, marks in found for digest in marks.digests]
        self._marks = Marks(
            tails[order],
            np.concatenate([marks.heads for _, marks in found])[order],
            np.concatenate([marks.lengths for _, marks in found])[order],
            [digests[place] for place in order.tolist()],
            np.concatenate([marks.secrets + number for number, marks in found])[order],
        )
        _, same = np.unique(tails, return_counts=True)
        self._most = int(same.max())
        bits = min(24, max(_MIN_HASH_BITS, len(digests).bit_length() + 6))
        self._shift = np.uint32(32 - bits)
        self._may_be = np.zeros(2**bits, dtype=np.bool_)
        self._may_be[tails >> self._shift] = True

    def matches(self, text: bytes, hashes: Hashes, start: int, begin: int) -> Iterator[Match]:
        """Forms that end behind `begin`, among the windows of the text from `start` on."""
        import numpy as np

        if not len(hashes):
            return
        marks = self._marks
        skip = begin - start - self.window + 1 if begin else 0
        places = np.flatnonzero(self._may_be[hashes[skip:] >> self._shift]) + skip
        # As many as a text can hold side by side are looked at in any case, so that it takes no longer where there are
        # some.
        room = len(hashes) // self.window + 1
        if len(places) < room:
            found, places = places, np.zeros(room, np.int64)
            places[: len(found)] = found
        for at in range(0, len(places), _PIECE_BYTES):
            some = places[at : at + _PIECE_BYTES]
            low = np.searchsorted(marks.tails, hashes[some], "left")
            for same in range(self._most):
                which = np.minimum(low + same, len(marks.tails) - 1)
                heads = some + self.window - marks.lengths[which]
                fits = (marks.tails[which] == hashes[some]) & (some >= skip)
                # The first window of a form of more than two windows may stand before what is hashed here.
                fits &= (hashes[np.maximum(heads, 0)] == marks.heads[which]) | ((heads < 0) & (heads + start >= 0))
                yield from self._sure(text, some[fits] + start + self.window, which[fits])

    def _sure(self, text: bytes, ends: Numbers, which: Numbers) -> Iterator[Match]:
        for end, mark in {(end, mark) for end, mark in zip(ends.tolist(), which.tolist(), strict=True)}:
            begin = end - int(self._marks.lengths[mark])
            if begin >= 0 and _digest(text[begin:end]) == self._marks.digests[mark]:
                yield Match(begin, end, int(self._marks.secrets[mark]))


def _each(window: int, parts: Sequence[bytes]) -> Hashes:
    """The hashes of texts of one window each."""
    return _hashes(b"".join(parts), window)[window][::window]


def _hashes(text: bytes | memoryview, longest: int) -> dict[int, Hashes]:
    """The hashes of all windows of each size up to the longest: those of a window are made of those of its halves."""
    import numpy as np

    letters, keys = _keys()
    one = letters[np.frombuffer(text, np.uint8)]
    two = one[:-1] * keys[0] + one[1:]
    found = {4: two[:-2] * keys[1] + two[2:]}
    found[6] = found[4][:-2] * keys[2] + two[4:]
    size, key = 4, 3
    while size < longest:
        half = found[size]
        found[2 * size] = half[:-size] * keys[key] + half[size:]
        size, key = 2 * size, key + 1
    return found


@cache
def _keys() -> tuple[Hashes, Hashes]:
    """What stands for each byte, and odd factors."""
    import numpy as np

    drawn = np.frombuffer(_DRAWN, np.uint32)
    return drawn[:256], drawn[256:] | np.uint32(1)


def _digest(form: bytes) -> bytes:
    return blake2b(form, key=_DIGEST_KEY, digest_size=16).digest()
