"""Writes JSON of any size without blocking other threads for long.

The writer is C code that keeps the interpreter lock: while it works, no other thread does. So large values are written
in a thread (`offload.py`), and in pieces of a few milliseconds.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from doorward.model.calls import File

MAX_PARTS = 1_000_000
"""Parts of a value that a program returns or gets. A larger one is useless as an answer, and would keep the host busy
for seconds."""

PIECE_BYTES = 2**20
PIECE_PARTS = 10_000


def exceeds(value: Any, most: int) -> bool:
    """Whether a value has more than `most` parts (a thousand characters are one), without a walk through all of it."""
    todo, parts = [value], 0
    while todo:
        node = todo.pop()
        parts += 1
        kind = type(node)  # most nodes are plain, and tests for abstract types are slow
        if kind is int or kind is float or kind is bool or node is None:
            pass
        elif kind is str or kind is bytes:
            parts += len(node) // 1000
        elif kind is not list and kind is not tuple and (kind is dict or isinstance(node, Mapping)):
            parts += len(node)
            if parts <= most:
                todo.extend(node.values())
                todo.extend(key for key in node if isinstance(key, str) and len(key) > 1000)
        elif isinstance(node, (list, tuple, set, frozenset)):
            parts += len(node)
            todo.extend(node if parts <= most else ())
        elif isinstance(node, (str, bytes)):
            parts += len(node) // 1000
        elif isinstance(node, File):
            parts += (len(node.content) + len(node.name)) // 1000
        if parts > most:
            return True
    return False


def dump(value: Any) -> bytes:
    """A plain value, which may contain bytes, as compact JSON."""
    return b"".join(_written(value)) if exceeds(value, PIECE_PARTS // 10) else in_one_piece(value)


def in_one_piece(value: Any) -> bytes:
    """The same for what is small or was read in one piece anyway, such as the parts of a document: to look how large a
    value is takes longer than to write it."""
    return to_json(value, inf_nan_mode="strings", bytes_mode="base64")


def _written(value: Any) -> Iterator[bytes]:
    match value:
        case str() if len(value) > PIECE_BYTES:
            yield b'"'
            yield from (in_one_piece(value[at : at + PIECE_BYTES])[1:-1] for at in range(0, len(value), PIECE_BYTES))
            yield b'"'
        case bytes() if len(value) > PIECE_BYTES:
            yield b'"'
            yield from (base64.urlsafe_b64encode(value[at : at + 3 * 2**18]) for at in range(0, len(value), 3 * 2**18))
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
            yield in_one_piece(value)


def _pieces(items: Iterable[tuple[Any, Any]], kind: type) -> Iterator[Iterable[bytes]]:
    """The inside of a list or a dictionary, in pieces: small items together, large ones alone."""
    small: list[Any] = []
    room = PIECE_PARTS
    for item, part in items:
        if not isinstance(part, (str, bytes, list, tuple, dict)):
            small.append(item)
            room -= 1
        elif exceeds(part, PIECE_PARTS // 10):
            if small:
                yield [in_one_piece(kind(small))[1:-1]]
            small, room = [], PIECE_PARTS
            yield [in_one_piece(str(item[0])), b":", *_written(part)] if kind is dict else _written(part)
        else:
            small.append(item)
            room -= len(part) // 1000 + 1 if isinstance(part, (str, bytes)) else 10 + 2 * len(part)
        if room <= 0:
            yield [in_one_piece(kind(small))[1:-1]]
            small, room = [], PIECE_PARTS
    if small:
        yield [in_one_piece(kind(small))[1:-1]]


def _separated(parts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    for number, part in enumerate(parts):
        if number:
            yield b","
        yield from part


def digest(*parts: Any) -> str:
    """A stable hash of JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
