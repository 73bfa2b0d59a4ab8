"""Counts the values of a JSON text without reading it: what is built of them is many times as large as the text, and
keeps the interpreter busy even where it only looks for garbage, or frees them."""

from __future__ import annotations

from collections.abc import Iterator

_PIECE_LENGTH = 2**18


def values_in(text: bytes | str, most: int) -> int:
    """How many values and members a JSON text has: its commas and opening brackets outside of strings. It is counted no
    further than beyond `most`; if it is far less, those in strings may be counted as well."""
    if (marks := sum(map(_marks, _pieces(text)))) <= most // 10:
        return marks
    values = Values()
    for piece in _pieces(text):
        if values.feed(piece) > most:
            break
    return values.count


class Values:
    """Counts the values of a JSON text that comes in pieces."""

    def __init__(self) -> None:
        self.count = 0
        self._quoted = False
        self._held = b""

    def feed(self, data: bytes) -> int:
        """Count the next piece. Returns: how many there are by now."""
        data = self._held + data
        backslashes = len(data) - len(data.rstrip(b"\\"))
        self._held = b"\\" * (backslashes % 2)  # the character that it escapes is in the next piece
        parts = data[: len(data) - len(self._held)].replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        self.count += _marks(b"".join(parts[self._quoted :: 2]))
        self._quoted ^= len(parts) % 2 == 0
        return self.count


def _pieces(text: bytes | str) -> Iterator[bytes]:
    for start in range(0, len(text), _PIECE_LENGTH):
        piece = text[start : start + _PIECE_LENGTH]
        yield piece.encode(errors="replace") if isinstance(piece, str) else piece


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")
