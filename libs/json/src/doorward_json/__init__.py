"""JSON of any size and any origin: read within bounds, without blocking other threads; or counted, unread.

No JSON reader releases the interpreter lock while it works: 64 MiB took up to 0.4 seconds, in which nobody was served,
even from a thread. So large texts are read in a thread and piece by piece: no step works on more than
`PIECE_CHARACTERS`.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from typing import Any

__all__ = ["decoded", "read_json", "values_in"]

_COUNTED_CHARACTERS = 2**18
"""Characters that are counted in one step."""

PIECE_CHARACTERS = 2**16
"""Characters that one step works on."""
MAX_DEPTH = 500
"""Levels of nesting; in a text that is read piece by piece, `…` stands for anything deeper."""
_MIN_PIECE_CHARACTERS = 256
"""The smallest piece, tried after larger ones could not be read at once."""
_MAX_INTEGER_DIGITS = 4000
"""An integer with more digits stays text."""
_CONTAINERS_ENTERED_BLINDLY = 50
"""Objects and lists that are entered without trying to read them at once, after that has failed often."""
_CONTAINERS_ENTERED_WHEN_DEEP = 900
"""The same after the standard library's reader has given up because of the depth of nesting."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"[-+.0-9eE]*")
_CHARACTERS = re.compile(r'(?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u])*')
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
"""The first half of a surrogate pair."""
_AFTER = frozenset(" \t\n\r,]}:")
"""Characters that may follow a value."""


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
    for start in range(0, len(text), _COUNTED_CHARACTERS):
        piece = text[start : start + _COUNTED_CHARACTERS]
        yield piece.encode(errors="replace") if isinstance(piece, str) else piece


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def decoded(data: bytes, encoding: str = "utf-8") -> str:
    """The text of bytes of any size; invalid bytes are replaced. Raises: LookupError or ValueError if the encoding is
    not one for text."""
    if len(data) <= PIECE_CHARACTERS:
        return data.decode(encoding, "replace")
    b"a".decode(encoding, "replace")  # the next line would take a codec of bytes as well, such as zlib
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return "".join(
        decoder.decode(data[at : at + PIECE_CHARACTERS], final=at + PIECE_CHARACTERS >= len(data))
        for at in range(0, len(data), PIECE_CHARACTERS)
    )


def _none(name: str) -> None:
    """What is read for NaN and infinities."""


_SMALL = json.JSONDecoder(parse_constant=_none, strict=False)
"""Reads what fits into a piece."""


def read_json(
    text: str | bytes, *, number: Callable[[str], Any] = float, constant: Callable[[str], Any] = _none
) -> Any:
    """The value of a JSON text. `number` reads numbers that are not integers; `constant` reads NaN and infinities,
    which are not JSON. An integer of thousands of digits stays text, and half a surrogate pair is kept.

    Raises: ValueError.
    """
    whole = text if isinstance(text, str) else decoded(text).removeprefix("\ufeff")
    if len(whole) <= PIECE_CHARACTERS and number is float and constant is _none:
        with contextlib.suppress(ValueError, RecursionError):
            return _SMALL.decode(whole)
    return _Reader(whole, number, constant).read()


class _Reader:
    """Reads one text. A value that fits into a piece is read at once; larger objects and lists are entered, and read
    member by member."""

    def __init__(self, text: str, number: Callable[[str], Any], constant: Callable[[str], Any]) -> None:
        options: Any = {"parse_float": number, "parse_constant": constant, "strict": False}
        decoder: Any = json.JSONDecoder(**options)
        self._scan, self._characters = decoder.scan_once, decoder.parse_string
        decoder = json.JSONDecoder(parse_int=_integer, **options)
        self._scan_long = decoder.scan_once
        self._text, self._at = text, 0
        self._piece, self._start, self._width = "", 0, PIECE_CHARACTERS
        self._go_in = 0

    def read(self) -> Any:
        """Raises: ValueError."""
        containers: list[Any] = []
        keys: list[Any] = []
        while True:
            complete, value = self._value()
            if not complete:
                containers.append(value)
                keys.append(None)
                if self._peek() not in ("]", "}"):
                    keys[-1] = self._key(value)
                    continue
                complete = None  # it is empty
            while containers:
                container = containers[-1]
                if complete is not None:
                    container.append(value) if isinstance(container, list) else container.update({keys[-1]: value})
                complete, mark = True, self._peek()
                self._at += 1
                if mark == ",":
                    keys[-1] = self._key(container)
                    break
                if mark != ("]" if isinstance(container, list) else "}"):
                    raise self._wrong("no , and no end")
                value = containers.pop() if len(containers) < MAX_DEPTH else (containers.pop(), "…")[1]
                keys.pop()
            else:
                if self._peek():
                    raise self._wrong("more than one value")
                return value

    def _value(self) -> tuple[bool | None, Any]:
        """Whether the next value is complete, and the value: only the beginning of an incomplete one was read."""
        mark = self._peek()
        if not (self._go_in and mark in ("[", "{")):
            for again in (False, True):
                if again or not self._start <= self._at < self._start + len(self._piece):
                    self._width = min(self._width * 2, PIECE_CHARACTERS)  # the piece was read to its end
                    self._piece, self._start = self._text[self._at : self._at + self._width], self._at
                try:
                    value, end = self._scanned(self._at - self._start)
                except (StopIteration, JSONDecodeError):
                    pass
                except RecursionError:
                    self._go_in = _CONTAINERS_ENTERED_WHEN_DEEP
                    break
                else:
                    if self._piece[end : end + 1] in _AFTER or self._start + end == len(self._text):
                        self._at = self._start + end
                        return True, value
                if self._start == self._at:
                    break
            if self._width <= 2 * _MIN_PIECE_CHARACTERS:  # only beginnings: to try each costs more than to enter
                self._go_in = max(self._go_in, _CONTAINERS_ENTERED_BLINDLY)
            self._width = max(self._width // 4, _MIN_PIECE_CHARACTERS)
        self._go_in = max(self._go_in - 1, 0)
        if mark in ("[", "{"):
            self._at += 1
            return False, [] if mark == "[" else {}
        return True, self._string() if mark == '"' else self._number()

    def _scanned(self, at: int) -> Any:
        try:
            return self._scan(self._piece, at)
        except (JSONDecodeError, RecursionError):
            raise
        except ValueError:  # an integer of more digits than Python converts
            return self._scan_long(self._piece, at)

    def _peek(self) -> str:
        """The next character that is not a space; empty at the end of the text."""
        while True:
            found = _SPACE.match(self._text, self._at, self._at + PIECE_CHARACTERS)
            assert found is not None
            self._at = found.end()
            if self._at - found.start() < PIECE_CHARACTERS:
                return self._text[self._at : self._at + 1]

    def _key(self, container: Any) -> Any:
        if isinstance(container, list):
            return None
        if self._peek() != '"':
            raise self._wrong("no key")
        _, key = self._value()
        if self._peek() != ":":
            raise self._wrong("no :")
        self._at += 1
        return key

    def _string(self) -> str:
        parts, at, whole = [], self._at + 1, len(self._text)
        while True:
            window = min(at + PIECE_CHARACTERS, whole)
            found = _CHARACTERS.match(self._text, at, window)
            assert found is not None
            end, part = found.end(), found[0]
            closed = self._text[end : end + 1] == '"'
            if not closed and _HALF.fullmatch(part[-6:]) and (len(part) - 6 - len(part[:-6].rstrip("\\"))) % 2 == 0:
                end, part = end - 6, part[:-6]
            if not closed and (end == at or window == whole):
                raise self._wrong("a text without end")
            try:
                parts.append(self._characters(f'{part}"', 0, False)[0])
            except JSONDecodeError as error:
                raise self._wrong(f"a text with a broken escape ({error.msg})") from None
            if closed:
                self._at = end + 1
                return "".join(parts)
            at = end

    def _number(self) -> Any:
        start = self._at
        while (found := _NUMBER.match(self._text, self._at, self._at + PIECE_CHARACTERS)) and found[0]:
            self._at = found.end()
        text = self._text[start : self._at]
        if len(text) <= _MAX_INTEGER_DIGITS:
            raise self._wrong("no value")
        return text

    def _wrong(self, why: str) -> ValueError:
        return ValueError(f"{why} at character {self._at}")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits
