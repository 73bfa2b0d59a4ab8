"""Prepares values for the agent: makes them plain, measures them, and cuts them when they are too large."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Container, Mapping
from typing import Any

from doorward.model.calls import File

_PIECE_CHARACTERS = 2**20
_HALF = re.compile("[\ud800-\udfff]")

_SMALL = 2**63
"""Integers nearer to zero than this are plain."""

MAX_DEPTH = 100
"""Levels of nesting; `…` stands for anything deeper, because JSON readers of clients cannot take more."""


def plain(value: Any, depth: int = 0, *, keep: Container[type] = (), held: Callable[[File], Any] | None = None) -> Any:
    """A value as plain JSON. Tuples and sets become lists; keys, NaN and infinities text; dates ISO 8601; `bytes`
    base64 and an `int` of more than 64 bits text, unless `keep` names the type; everything else its `repr`. `held`, if
    given, replaces bytes and files at any level."""
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
    return repr(value)[:1000]


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


def cut(value: Any, budget: int) -> Any:
    """A value cut so that its JSON has about `budget` bytes at most; a note stands in place of each part left out."""
    return _cut(value, budget)[0]


def _cut(value: Any, budget: int) -> tuple[Any, int]:
    """The cut value, and the rest of the budget."""
    match value:
        case str():
            kept = beginning(value, max(budget - 2, 20))
            shown = value if kept == value else f"{kept}… ({len(value) - len(kept)} more characters)"
            return shown, budget - size(kept) - 2
        case list():
            items: list[Any] = []
            for item in value:
                if budget <= 0:
                    items.append(f"… {len(value) - len(items)} more")
                    break
                item, budget = _cut(item, budget - 1)
                items.append(item)
            return items, budget
        case dict():
            fields: dict[str, Any] = {}
            for key, item in value.items():
                if budget <= 0:
                    fields["…"] = f"{len(value) - len(fields)} more"
                    break
                name = _cut(key, max(budget, 0))[0]
                fields[name], budget = _cut(item, budget - size(name) - 4)
            return fields, budget
        case _:
            return value, budget - 6
