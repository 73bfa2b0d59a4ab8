"""Counts the values of a JSON text without parsing it."""

from __future__ import annotations

MAX_VALUES = 1_000_000
"""Values of one message. To parse millions takes gigabytes, and seconds in which nobody else is served."""

_PIECE_LENGTH = 2**18


class Values:
    """Counts the values of a JSON text that comes in pieces: the commas and brackets outside its strings."""

    def __init__(self) -> None:
        self._count = 0
        self._quoted = False
        self._held = b""

    def feed(self, data: bytes) -> bool:
        """Count the next piece. Returns: whether there are too many values by now."""
        data = self._held + data
        backslashes = len(data) - len(data.rstrip(b"\\"))
        self._held = b"\\" * (backslashes % 2)  # the character that it escapes is in the next piece
        parts = data[: len(data) - len(self._held)].replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        self._count += _marks(b"".join(parts[self._quoted :: 2]))
        self._quoted ^= len(parts) % 2 == 0
        return self._count > MAX_VALUES


def too_many(text: bytes | str) -> bool:
    """Whether a JSON text has more than `MAX_VALUES`."""
    if len(text) <= MAX_VALUES:
        return False
    pieces = [text[start : start + _PIECE_LENGTH] for start in range(0, len(text), _PIECE_LENGTH)]
    data = [piece.encode(errors="replace") if isinstance(piece, str) else piece for piece in pieces]
    if sum(map(_marks, data)) <= MAX_VALUES:
        return False
    values = Values()
    return any(map(values.feed, data))


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")
