"""Finds secrets, in all their forms, in one pass over a text. The time that it takes does not depend on the secrets.

A search that compares letters is fast if the text differs early, and slow if it nearly matches: its time reveals the
secret. Here each window of the text is hashed with keys of this process. A form matches only if both its first and its
last window are there, which together cover all of it. Without the keys, nobody can tell a text that nearly matches from
any other. numpy does the work, and lets other threads run meanwhile.
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
"""Sizes of windows. The first and the last window of a form are looked up, in the largest size that fits: so each is
more than half of the form."""
MIN_FORM_BYTES = WINDOW_BYTES[-1]

_DRAWN, _DIGEST_KEY = os.urandom(4 * (256 + 8)), os.urandom(32)
"""The keys of this process. They are drawn at import, so that two threads cannot draw different ones."""

_OVERLAP_BYTES = 2 * WINDOW_BYTES[0] - 1
"""Bytes before a piece that are hashed with it, because the first window of a form may be there."""
_PIECE_BYTES = 2**16
"""Bytes of the text that are searched at once: their hashes fit into the processor's cache."""
_MIN_HASH_BITS = 16
"""Leading bits of a hash by which windows that match no form are skipped; more of them if there are many forms."""


@dataclass(frozen=True, slots=True)
class Match:
    """A form found in a text: where it is, and the number of its secret."""

    start: int
    end: int
    secret: int


class Marks(NamedTuple):
    """What is remembered of some forms: the hashes of their last and first windows, their lengths, their digests, and
    the numbers of their secrets. The forms themselves are not kept."""

    tails: Hashes
    heads: Hashes
    lengths: Numbers
    digests: Sequence[bytes]
    secrets: Numbers


def warm_up() -> None:
    """Import numpy in a thread, ahead of the first secret in the event loop: it takes a tenth of a second."""
    _keys()


class Forms:
    """The forms of one secret, by the size of their windows."""

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
    """The forms of several secrets, found together. Never changed after it is made, so threads may share it."""

    def __init__(self, secrets: Sequence[Forms]) -> None:
        self.secrets = len(secrets)
        self._tables = [_Table(w, secrets) for w in WINDOW_BYTES if any(w in forms.by_window for forms in secrets)]
        self._longest = max((table.window for table in self._tables), default=0)

    def __bool__(self) -> bool:
        return bool(self._tables)

    def find(self, text: bytes) -> Iterator[Match]:
        """All forms that are in a text."""
        if not self._tables:
            return
        for begin in range(0, len(text), _PIECE_BYTES):
            start = max(0, begin - _OVERLAP_BYTES)
            hashes = _hashes(memoryview(text)[start : begin + _PIECE_BYTES], self._longest)
            for table in self._tables:
                yield from table.matches(text, hashes[table.window], start, begin)


class _Table:
    """The forms with one size of windows, sorted by the hash of the last window."""

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
        """The forms that end after `begin`, among the windows of the text from `start` on."""
        import numpy as np

        if not len(hashes):
            return
        marks = self._marks
        skip = begin - start - self.window + 1 if begin else 0
        places = np.flatnonzero(self._may_be[hashes[skip:] >> self._shift]) + skip
        # As many places as a text can hold side by side are always examined, so that matches cost no extra time.
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
                # The first window of a form that is longer than two windows may be before the hashed part.
                fits &= (hashes[np.maximum(heads, 0)] == marks.heads[which]) | ((heads < 0) & (heads + start >= 0))
                yield from self._sure(text, some[fits] + start + self.window, which[fits])

    def _sure(self, text: bytes, ends: Numbers, which: Numbers) -> Iterator[Match]:
        for end, mark in {(end, mark) for end, mark in zip(ends.tolist(), which.tolist(), strict=True)}:
            begin = end - int(self._marks.lengths[mark])
            if begin >= 0 and _digest(text[begin:end]) == self._marks.digests[mark]:
                yield Match(begin, end, int(self._marks.secrets[mark]))


def _each(window: int, parts: Sequence[bytes]) -> Hashes:
    """The hashes of texts that are one window long."""
    return _hashes(b"".join(parts), window)[window][::window]


def _hashes(text: bytes | memoryview, longest: int) -> dict[int, Hashes]:
    """The hashes of all windows, by size up to the longest. The hash of a window is made from those of its halves."""
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
    """A random number for each byte, and odd factors."""
    import numpy as np

    drawn = np.frombuffer(_DRAWN, np.uint32)
    return drawn[:256], drawn[256:] | np.uint32(1)


def _digest(form: bytes) -> bytes:
    return blake2b(form, key=_DIGEST_KEY, digest_size=16).digest()
