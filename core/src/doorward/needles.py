"""Finds secrets, in all their forms, in one pass over a text whose time does not depend on them.

A search that compares letters is fast where the text differs early and slow where it nearly fits: its time tells the secret. Here each
window of the text is hashed with keys of this process, and only whole windows are looked up. Nobody without the keys can tell a text
that nearly fits from any other. The work is numpy's, which lets other threads run meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint32]

WINDOWS = (16, 8, 6)
"""Bytes of a needle that are looked up, its last: as many as it has."""
LONGEST_WINDOW, SHORTEST = WINDOWS[0], WINDOWS[-1]

_DRAWN, _DIGEST_KEY = os.urandom(4 * (256 + 5)), os.urandom(32)
"""The keys of this process. Drawn when it starts: two threads that are the first to search must not draw two."""

_PIECE_BYTES = 2**16
"""Of the text at once: its hashes stay in the processor's cache."""
_FEWEST_BITS = 16
"""Of a hash, by which windows that are surely none of a needle's are passed over; more of them where there are many needles."""


@dataclass(frozen=True, slots=True)
class Match:
    """A needle in a text: where it stands, and the number of the secret that it is a form of."""

    start: int
    end: int
    secret: int


Mark = tuple[int, bytes]
"""A form of a secret as it is remembered: its length, and a digest of it. The form itself is not kept."""


def warm_up() -> None:
    """Import numpy ahead, which takes a tenth of a second, in a thread: the first secret is met in the event loop."""
    _keys()


class Forms:
    """The forms of one secret, by the sizes of their last windows, with the hashes of these."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        found: dict[int, list[bytes]] = {}
        for form in {form for form in forms if len(form) >= SHORTEST}:
            found.setdefault(next(w for w in WINDOWS if len(form) >= w), []).append(form)
        self.by_window: dict[int, tuple[list[Mark], Hashes]] = {}
        for window, those in found.items():
            tails = b"".join(form[-window:] for form in those)
            self.by_window[window] = [(len(form), _digest(form)) for form in those], dict(_hashes(tails))[window][::window]


class Needles:
    """The forms of some secrets, to be found together. Never changed once it is made: threads may share it."""

    def __init__(self, secrets: Sequence[Forms]) -> None:
        self._tables = [_Table(w, secrets) for w in WINDOWS if any(w in forms.by_window for forms in secrets)]

    def __bool__(self) -> bool:
        return bool(self._tables)

    def find(self, text: bytes) -> list[Match]:
        """All needles in a text, by where they end."""
        return sorted(self._matches(text), key=lambda match: match.end) if self._tables else []

    def _matches(self, text: bytes) -> Iterator[Match]:
        for begin in range(0, len(text), _PIECE_BYTES):
            start = max(0, begin - LONGEST_WINDOW + 1)  # windows that end in this piece may begin in the one before
            hashes = dict(_hashes(memoryview(text)[start : begin + _PIECE_BYTES]))
            for table in self._tables:
                skip = begin - start - table.window + 1 if begin else 0
                yield from table.matches(text, hashes[table.window][skip:], start + skip + table.window)


class _Table:
    """The needles of one window's size, sorted by its hash."""

    def __init__(self, window: int, secrets: Sequence[Forms]) -> None:
        import numpy as np

        self.window = window
        found = [(number, *forms.by_window[window]) for number, forms in enumerate(secrets) if window in forms.by_window]
        self.marks = [(number, *mark) for number, marks, _ in found for mark in marks]
        self._hashes = np.concatenate([hashes for _, _, hashes in found])
        order = np.argsort(self._hashes, kind="stable")
        self._hashes = self._hashes[order]
        self.marks = [self.marks[place] for place in order.tolist()]
        bits = min(24, max(_FEWEST_BITS, len(self.marks).bit_length() + 6))
        self._shift = np.uint32(32 - bits)
        self._may_be = np.zeros(2**bits, dtype=np.bool_)
        self._may_be[self._hashes >> self._shift] = True

    def matches(self, text: bytes, hashes: Hashes, first_end: int) -> Iterator[Match]:
        """Needles among windows of the text, the first of which ends at `first_end`."""
        import numpy as np

        places = np.flatnonzero(self._may_be[hashes >> self._shift])
        if not places.size:
            return
        low = np.searchsorted(self._hashes, hashes[places], "left")
        high = np.searchsorted(self._hashes, hashes[places], "right")
        sure = low < high
        for place, one, other in zip(places[sure].tolist(), low[sure].tolist(), high[sure].tolist(), strict=True):
            end = first_end + place
            for number, length, digest in self.marks[one:other]:
                if length <= end and _digest(text[end - length : end]) == digest:
                    yield Match(end - length, end, number)


def _hashes(text: bytes | memoryview) -> Iterator[tuple[int, Hashes]]:
    """The hashes of all windows of each size: those of a window are made of those of its halves."""
    import numpy as np

    letters, keys = _keys()
    one = letters[np.frombuffer(text, np.uint8)]
    two = one[:-1] * keys[0] + one[1:]
    four = two[:-2] * keys[1] + two[2:]
    eight = four[:-4] * keys[2] + four[4:]
    yield 6, four[:-2] * keys[3] + two[4:]
    yield 8, eight
    yield 16, eight[:-8] * keys[4] + eight[8:]


@cache
def _keys() -> tuple[Hashes, Hashes]:
    """What stands for each byte, and odd factors."""
    import numpy as np

    drawn = np.frombuffer(_DRAWN, np.uint32)
    return drawn[:256], drawn[256:] | np.uint32(1)


def _digest(form: bytes) -> bytes:
    return blake2b(form, key=_DIGEST_KEY, digest_size=16).digest()
