"""JSON of any size, read and written in pieces.

The parser and the writer are C: while one of them works, no other thread of this process does. With pieces of some milliseconds the
event loop gets its turn in between, if the work is done in a thread (`offload.py`).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from doorward.types import File

PIECE_BYTES = 2**20
PIECE_PARTS = 10_000

_DEEPEST = 200
_BLANKS = b" \t\r\n"
_BACKSLASH = ord("\\")
_MARK = re.compile(rb'[][{}",]')
_ESCAPED = re.compile(rb'(?:[^"\\]{1,1024}[\x80-\xbf]*|(?:\\u[dD][89abAB][0-9a-fA-F]{2})?\\(?:u[0-9a-fA-F]{4}|[^u])){1,1024}')
"""The beginning of a string's inside, up to a place where it may be cut: never within a character, an escape, or a pair of escapes."""


def exceeds(value: Any, most: int) -> bool:
    """Whether a value has more than `most` parts (a thousand characters are one), found without walking all of it."""
    todo, parts = [value], 0
    while todo:
        node = todo.pop()
        parts += 1
        if isinstance(node, (str, bytes)):
            parts += len(node) // 1000
        elif isinstance(node, File):
            parts += len(node.content) // 1000
        elif isinstance(node, Mapping):
            parts += len(node)
            todo.extend(node.values() if parts <= most else ())
        elif isinstance(node, (list, tuple, set, frozenset)):
            parts += len(node)
            todo.extend(node if parts <= most else ())
        if parts > most:
            return True
    return False


def dump(value: Any) -> bytes:
    """A plain value (bytes may be in it) as compact JSON."""
    return b"".join(_written(value)) if exceeds(value, PIECE_PARTS // 10) else _dump(value)


def _dump(value: Any) -> bytes:
    return to_json(value, inf_nan_mode="strings", bytes_mode="base64")


def _written(value: Any) -> Iterator[bytes]:
    match value:
        case str() if len(value) > PIECE_BYTES:
            yield b'"'
            yield from (_dump(value[at : at + PIECE_BYTES])[1:-1] for at in range(0, len(value), PIECE_BYTES))
            yield b'"'
        case bytes() if len(value) > PIECE_BYTES:
            yield b'"'
            yield from (base64.b64encode(value[at : at + 3 * 2**18]) for at in range(0, len(value), 3 * 2**18))
            yield b'"'
        case list() | tuple():
            yield b"["
            yield from _separated(_pieces(((part, part) for part in value), list))
            yield b"]"
        case dict():
            yield b"{"
            yield from _separated(_pieces(((pair, pair[1]) for pair in value.items()), dict))
            yield b"}"
        case _:
            yield _dump(value)


def _pieces(items: Iterable[tuple[Any, Any]], kind: type) -> Iterator[Iterable[bytes]]:
    """The inside of a list or a dictionary: small items together, large ones alone."""
    small: list[Any] = []
    room = PIECE_PARTS
    for item, part in items:
        if not isinstance(part, (str, bytes, list, tuple, dict)):
            small.append(item)
            room -= 1
        elif exceeds(part, PIECE_PARTS // 10):
            if small:
                yield [_dump(kind(small))[1:-1]]
            small, room = [], PIECE_PARTS
            yield [_dump(str(item[0])), b":", *_written(part)] if kind is dict else _written(part)
        else:
            small.append(item)
            room -= len(part) // 1000 + 1 if isinstance(part, (str, bytes)) else 10 + 2 * len(part)
        if room <= 0:
            yield [_dump(kind(small))[1:-1]]
            small, room = [], PIECE_PARTS
    if small:
        yield [_dump(kind(small))[1:-1]]


def _separated(parts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    for number, part in enumerate(parts):
        if number:
            yield b","
        yield from part


def load(text: bytes) -> Any:
    """The value of a JSON text in UTF-8. Raises: ValueError."""
    return from_json(text) if len(text) <= PIECE_BYTES else _Reader(text).read()


@dataclass(slots=True)
class _Open:
    """A container that has begun: what is read of it, and where the text begins that is not."""

    start: int
    value: list[Any] | dict[str, Any]
    rest: int
    tokens: int
    element: int = 0
    """Where its present element begins."""
    is_large: bool = False
    attached: bool = False
    """Whether the present element was too large for the text around it, and is there already."""


class _Reader:
    """Reads small neighbours together, and what is large part by part: it stops at each bracket, comma and quote to see which is which."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._open: list[_Open] = []
        self._tokens = 0

    def read(self) -> Any:
        text = self._text
        at = len(text) - len(text.lstrip(_BLANKS))
        if text[at : at + 1] == b'"':
            end = self._string_end(at)
            return self._alone(self._string(at, end), end)
        while mark := _MARK.search(text, at):
            self._tokens += 1
            place, at = mark.start(), mark.end()
            match mark[0]:
                case b'"' if self._open:
                    end = self._string_end(place)
                    if end - place > PIECE_BYTES and self._is_element(place):
                        self._attach(place, self._string(place, end), end)
                    at = end
                case b"[" | b"{":
                    if len(self._open) >= _DEEPEST:
                        raise ValueError(f"it is nested more than {_DEEPEST} deep")
                    self._open.append(_Open(place, [] if mark[0] == b"[" else {}, at, self._tokens, at))
                case b"," if self._open:
                    self._comma(place)
                case b"]" | b"}" if self._open and isinstance(self._open[-1].value, list) == (mark[0] == b"]"):
                    closed = self._open.pop()
                    if closed.is_large or place - closed.start > PIECE_BYTES or not self._open:
                        self._read_rest(closed, place)
                        if not self._open:
                            return self._alone(closed.value, at)
                        self._attach(closed.start, closed.value, at)
                case _:
                    raise ValueError(f"{mark[0].decode()!r} is out of place, at byte {place}")
        return from_json(text)  # a number, or what is cut off

    def _alone(self, value: Any, end: int) -> Any:
        if self._text[end:].strip(_BLANKS):
            raise ValueError(f"there is something behind the value, at byte {end}")
        return value

    def _comma(self, place: int) -> None:
        now = self._open[-1]
        if now.attached or place - now.rest > PIECE_BYTES or self._tokens - now.tokens > PIECE_PARTS:
            self._read_rest(now, place)
            now.is_large, now.rest, now.tokens = True, place + 1, self._tokens
        now.element = place + 1
        now.attached = False

    def _read_rest(self, now: _Open, end: int) -> None:
        """Read the text of a container up to `end`, which is behind a whole element."""
        part = self._text[now.rest : end]
        if now.attached:
            if part.strip(_BLANKS):
                raise ValueError(f"there is something behind a value, at byte {now.rest}")
        elif isinstance(now.value, list):
            if now.is_large and not part.strip(_BLANKS):
                raise ValueError(f"an element is missing, at byte {end}")
            now.value += from_json(b"[" + part + b"]")
        else:
            if now.is_large and not part.strip(_BLANKS):
                raise ValueError(f"a field is missing, at byte {end}")
            now.value.update(from_json(b"{" + part + b"}"))

    def _is_element(self, place: int) -> bool:
        """Whether a string is a value, not the name of a field."""
        now = self._open[-1]
        return isinstance(now.value, list) or bool(self._text[now.element : place].strip(_BLANKS))

    def _attach(self, start: int, value: Any, end: int) -> None:
        """Add an element that was read by itself to its container, behind what stands before it."""
        now = self._open[-1]
        if now.attached:
            raise ValueError(f"there is something behind a value, at byte {start}")
        if now.element > now.rest:
            self._read_rest(now, now.element - 1)
        name = self._text[now.element : start].rstrip(_BLANKS)
        if isinstance(now.value, list):
            if name.strip(_BLANKS):
                raise ValueError(f"there is something before a value, at byte {now.element}")
            now.value.append(value)
        else:
            if not name.endswith(b":"):
                raise ValueError(f"a value has no name, at byte {start}")
            now.value.update(dict.fromkeys(from_json(b"{" + name + b"0}"), value))
        now.is_large = now.attached = True
        now.rest = end

    def _string_end(self, start: int) -> int:
        """Where the string that begins here ends."""
        at = start + 1
        while True:
            end = self._text.find(b'"', at)
            if end < 0:
                raise ValueError(f"a string has no end, at byte {start}")
            before = end - 1
            while self._text[before] == _BACKSLASH:
                before -= 1
            if (end - before) % 2:
                return end + 1
            at = end + 1

    def _string(self, start: int, end: int) -> str:
        """The string between these places, its quotes included."""
        parts = []
        at = start + 1
        while at < end - 1:
            found = _ESCAPED.match(self._text, at, end - 1)
            if found is None:
                raise ValueError(f"a string is broken, at byte {at}")
            parts.append(from_json(b'"' + found[0] + b'"'))
            at = found.end()
        return "".join(parts)
