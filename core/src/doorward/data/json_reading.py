"""Reading JSON of any size, while others have their turn.

No reader of JSON lets go of the interpreter while it works: 64 MiB took up to 0.4 seconds, in which nobody was served,
in a thread too. So what is large is read in a thread, and piece by piece: no step of it works on more than `PIECE_CHARACTERS`
characters.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

PIECE_CHARACTERS = 2**16
"""Characters that are worked on at once."""
MAX_DEPTH = 500
"""Levels below which what is read piece by piece is `…`."""
_MIN_PIECE_CHARACTERS = 256
"""Characters that are looked at if more of them were none that could be read at once."""
_MAX_INTEGER_DIGITS = 4000
"""Of an integer; one with more stays text."""
_CONTAINERS_ENTERED_BLINDLY = 50
"""Objects and lists that are gone into without a look at whether they can be read at once, after that could not be done
often."""
_CONTAINERS_ENTERED_WHEN_DEEP = 900
"""Levels of nesting that the reader of the standard library cannot take."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"[-+.0-9eE]*")
_CHARACTERS = re.compile(r'(?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u])*')
_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
"""The first half of a surrogate pair."""
_AFTER = frozenset(" \t\n\r,]}:")
"""What may follow a value."""


def decoded(data: bytes, encoding: str = "utf-8") -> str:
    """Text of any size; what is none is replaced. Raises: LookupError, ValueError for an encoding that is none of
    text."""
    if len(data) <= PIECE_CHARACTERS:
        return data.decode(encoding, "replace")
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return "".join(
        decoder.decode(data[at : at + PIECE_CHARACTERS], final=at + PIECE_CHARACTERS >= len(data))
        for at in range(0, len(data), PIECE_CHARACTERS)
    )


def read_json(
    text: str | bytes, *, number: Callable[[str], Any] = float, constant: Callable[[str], Any] = lambda name: None
) -> Any:
    """The value of a JSON text. `number` reads what is no integer, `constant` what is no JSON, NaN and infinities. An
    integer of thousands of digits stays text; half a surrogate pair stays what it is.

    Raises: ValueError.
    """
    return _Reader(text if isinstance(text, str) else decoded(text).removeprefix("\ufeff"), number, constant).read()


class _Reader:
    """One text. A value that fits into a piece is read at once; larger objects and lists are gone into, member by
    member."""

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
        """The value that comes next, and whether it is complete: of one that is not, only its beginning was read."""
        mark = self._peek()
        if not (self._go_in and mark in ("[", "{")):
            for again in (False, True):
                if again or not self._start <= self._at < self._start + len(self._piece):
                    self._width = min(self._width * 2, PIECE_CHARACTERS)  # the piece was read through
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
            if (
                self._width <= 2 * _MIN_PIECE_CHARACTERS
            ):  # nothing but beginnings: to look at each of them costs more than to go in
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
        """The next character that is no space; empty at the end."""
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
