"""Prepares values for the agent: makes them plain, measures them, and cuts them when they are too large."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from doorward.model.calls import File

_PIECE_CHARACTERS = 2**20
_HALF = re.compile("[\ud800-\udfff]")

_SAID_BY_TEXT = frozenset(["datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid"])
"""Modules whose objects are what their text says."""

_SMALL = 2**63
"""Integers nearer to zero than this are plain."""

_MIN_ENDS = 150
"""Bytes below which of a text only the beginning is shown."""

_MIN_FIELD, _MAX_NAME = 30, 200
"""Bytes that a field of an object has at least where it is cut, and that its name has at most."""

MAX_DEPTH = 100
"""Levels of nesting; `…` stands for anything deeper, because JSON readers of clients cannot take more."""


def plain(value: Any, depth: int = 0, *, keep: Container[type] = (), held: Callable[[File], Any] | None = None) -> Any:
    """A value as plain JSON. Tuples and sets become lists; keys, NaN and infinities text; dates ISO 8601; `bytes`
    base64 and an `int` of more than 64 bits text, unless `keep` names the type; decimals, paths and the like are their
    text, everything else its `repr`. `held`, if given, replaces bytes and files at any level."""
    kind = type(value)  # most parts are plain texts, small numbers and tables, and tests for abstract types are slow
    if isinstance(value, str):
        return value if value.isascii() else _whole(value)
    if value is None or kind is bool or (kind is int and -_SMALL < value < _SMALL):
        return value
    if isinstance(value, int):
        if value.bit_length() >= 10_000:
            return f"an integer of {value.bit_length()} bits"
        return value if int in keep or abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth > MAX_DEPTH:
        return "…"
    if kind is dict or isinstance(value, Mapping):
        return {
            k if type(k) is str and k.isascii() else _key(k): plain(v, depth + 1, keep=keep, held=held)
            for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(v, depth + 1, keep=keep, held=held) for v in value]
    if held is not None and isinstance(value, (bytes, bytearray, File)):
        return held(value if isinstance(value, File) else File(bytes(value)))
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v, depth + 1, keep=keep, held=held) for v in value), key=str)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value) if bytes in keep else base64.b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return (str(value) if kind.__module__.partition(".")[0] in _SAID_BY_TEXT else repr(value))[:1000]


def _key(key: Any) -> str:
    return str(plain(key)) if isinstance(key, (str, int)) else str(key)


def _whole(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON does not allow."""
    pieces = [text[at : at + _PIECE_CHARACTERS] for at in range(0, len(text), _PIECE_CHARACTERS)]
    if all(_HALF.search(piece) is None for piece in pieces):
        return text
    return "".join(_HALF.sub("?", piece) for piece in pieces)


def shape(value: Any) -> str:
    """The shape of a value in a few words: `list[1042] of dict with id, title, …`."""
    match value:
        case dict():
            keys = ", ".join(str(k)[:40] for k in list(value)[:8])
            return f"dict with {keys}{', …' if len(value) > 8 else ''}" if value else "empty dict"
        case list():
            return f"list[{len(value)}] of {shape(value[0])}" if value else "empty list"
        case str():
            return f"str of {len(value)} characters"
        case _:
            return type(value).__name__


def size(text: str) -> int:
    """Size of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def beginning(text: str, most_bytes: int) -> str:
    """The beginning of a text: whole characters of at most so many bytes together."""
    if len(text) <= most_bytes and size(text) <= most_bytes:
        return text
    return text[:most_bytes].encode(errors="surrogatepass")[:most_bytes].decode(errors="ignore")


def ends(text: str, most_bytes: int) -> str:
    """The beginning and the end of a text, of about so many bytes together, and between them how much is left out."""
    if len(text) <= most_bytes and size(text) <= most_bytes:
        return text
    head = beginning(text, max(most_bytes * 2 // 3, 20))
    last = most_bytes // 3 if most_bytes > _MIN_ENDS else 0
    tail = text[-last:].encode(errors="surrogatepass")[-last:].decode(errors="ignore") if last else ""
    return f"{head}… ({len(text) - len(head) - len(tail)} more characters){'…' if tail else ''}{tail}"


def cut(value: Any, budget: int) -> Any:
    """A value cut so that its JSON has about `budget` bytes at most: of texts and lists, and of objects of many fields,
    the beginning and the end. A note stands in place of what is left out."""
    if _left(value, budget) >= 0:
        return value
    match value:
        case str():
            return ends(value, max(budget - 2, 20))
        case [alone]:
            return [cut(alone, budget - 2)]
        case list():
            first, last = _at_both_ends(value, budget, _left)
            first, last = first or [cut(value[0], budget * 2 // 3)], last or [cut(value[-1], budget // 3)]
            between = len(value) - len(first) - len(last)
            return [*first, *([f"… {between} more"] if between else []), *last]
        case dict():
            return _cut_fields(value, budget)
    return value


def _left(value: Any, budget: float) -> float:
    """What is left of a budget once a value is written; less than nothing if it does not fit."""
    match value:
        case str():
            return budget - 2 - (len(value) if len(value) > budget else size(value))
        case list() | dict():
            parts = value if isinstance(value, list) else chain.from_iterable(value.items())
        case _:
            return budget - len(repr(value))
    for part in parts:
        budget = _left(part, budget) - 2
        if budget < 0:
            break
    return budget


def _at_both_ends(parts: list[Any], budget: int, left: Callable[[Any, float], float]) -> tuple[list[Any], list[Any]]:
    """The parts at the beginning and at the end that fit; `left` says what is left of a budget after one."""
    first = _fitting(iter(parts), budget * 2 // 3, left)
    last = _fitting(islice(reversed(parts), len(parts) - len(first)), budget // 3, left)
    return first, last[::-1]


def _fitting(parts: Iterator[Any], budget: float, left: Callable[[Any, float], float]) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        budget = left(part, budget) - 2
        if budget < 0:
            break
        found.append(part)
    return found


def _cut_fields(value: dict[str, Any], budget: int) -> dict[str, Any]:
    """Small fields stay whole; what is left is for the large ones, in equal parts."""

    def least(name: str, budget: float) -> float:
        whole = _left(value[name], _MIN_FIELD)
        return _left(ends(name, _MAX_NAME), budget) - (_MIN_FIELD - max(whole, 0))

    first, last = _at_both_ends([*value], budget, least)
    names = first + last
    sizes = {name: budget - int(_left(value[name], budget)) for name in names}
    room = budget - sum(size(ends(name, _MAX_NAME)) + 4 for name in names)
    shares: dict[str, int] = {}
    for number, name in enumerate(sorted(names, key=sizes.__getitem__)):
        shares[name] = min(sizes[name], max(room // (len(names) - number), 0))
        room -= shares[name]
    fields = [(ends(name, _MAX_NAME), cut(value[name], shares[name])) for name in names]
    between = [("…", f"{len(value) - len(names)} more")] if len(names) < len(value) else []
    return dict([*fields[: len(first)], *between, *fields[len(first) :]])
