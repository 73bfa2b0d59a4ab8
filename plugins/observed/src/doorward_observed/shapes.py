"""The shapes of results: names and types, never values.

A shape's names are stored, and models read them. So names that look like data, which the author of a value may choose,
are not kept: such an object becomes a `map`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import islice
from typing import Any

from doorward_text import MAX_TEXT_CHARS, holds, may_hold

Shape = dict[str, Any]
"""What has been observed in one place: JSON types, each with what is inside. `{"array": SHAPE}`;
`{"string": {FORMAT: {}}}`; `{"object": {NAME: SHAPE}}`, or `{"map": SHAPE}` where the names are data. `{}` is nothing
observed."""

TEXT_FORMATS = {"JSON": "holds-JSON", "a Python literal": "holds-a-Python-literal"}
"""The formats of texts that hold something, by what they hold."""

MAX_DEPTH = 6
MAX_KEYS = 60
"""Names of one object; if there are more, they are taken for data."""

MAX_ITEMS = 20
"""Items of a list that are looked at."""

MAX_PARTS = 1000
"""Parts of one result that are looked at."""

CHARS_PER_PART = 20
"""Characters that count as one part, in a text that is parsed to see what it holds."""

MAX_PLACES = 600
"""Places of one shape; a larger one loses its deepest levels."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_DIGITS = re.compile(r"[0-9]")
_SCALAR_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def shape(value: Any) -> Shape:
    """The shape of a plain JSON value."""
    return _shape(value, MAX_DEPTH, [MAX_PARTS])


def _shape(value: Any, depth: int, left: list[int]) -> Shape:
    left[0] -= 1
    if isinstance(value, str) and left[0] >= 0 and may_hold(value):
        left[0] -= min(len(value), MAX_TEXT_CHARS) // CHARS_PER_PART
        if what := holds(value):
            return {"string": {TEXT_FORMATS[what]: {}}}
    if kind := _SCALAR_TYPES.get(type(value)):
        return {kind: {}}
    if depth == 0 or left[0] < 0:
        return {}
    if isinstance(value, list):
        return {"array": _together(_shape(item, depth - 1, left) for item in value[:MAX_ITEMS])}
    if not isinstance(value, Mapping):
        return {}
    if len(value) > MAX_KEYS or not all(map(_is_name, value)):
        return {"map": _together(_shape(item, depth - 1, left) for item in islice(value.values(), MAX_ITEMS))}
    return {"object": {key: _shape(item, depth - 1, left) for key, item in value.items()}}


def _is_name(key: Any) -> bool:
    """Whether a key is a name that a programmer chose; a number, an address or an id is data."""
    return isinstance(key, str) and _NAME.fullmatch(key) is not None and len(_DIGITS.findall(key)) <= 4


def merge(one: Shape, other: Shape) -> Shape:
    """A shape with what has been observed in either."""
    if one == other or not other:
        return one
    if not one:
        return other
    merged = {**one, **other, **{kind: _merged(kind, one[kind], other[kind]) for kind in one.keys() & other.keys()}}
    fields = merged.get("object")
    if fields is not None and (
        len(fields) > MAX_KEYS or "map" in merged or _unlike(one.get("object"), other.get("object"))
    ):
        merged["map"] = _together([merged.get("map", {}), *merged.pop("object").values()])
    if "number" in merged:
        merged.pop("integer", None)
    return merged


def _merged(kind: str, one: Shape, other: Shape) -> Shape:
    if kind == "object":
        return {**one, **{name: merge(one.get(name, {}), inside) for name, inside in other.items()}}
    return merge(one, other)


def _unlike(one: Shape | None, other: Shape | None) -> bool:
    """Whether two objects have no name in common, but values of the same types: then their names are data, as in
    `{"anna": 1}`."""
    if not one or not other or one.keys() & other.keys():
        return False
    kinds = [tuple(sorted(inside)) for inside in (*one.values(), *other.values())]
    return len(set(kinds)) == 1


def _together(shapes: Iterable[Shape]) -> Shape:
    return reduce(merge, shapes, {})


def bounded(whole: Shape) -> Shape:
    """A shape without the levels for which there is no room."""
    for depth in range(MAX_DEPTH + 1, 0, -1):
        cut = whole if depth > MAX_DEPTH else _cut(whole, depth)
        if _size(cut) <= MAX_PLACES:
            return cut
    return {kind: {} for kind in whole}


def _inside(kind: str, inside: Shape) -> Iterable[Shape]:
    return inside.values() if kind == "object" else [inside]


def _size(whole: Shape) -> int:
    return 1 + sum(_size(part) for kind, inside in whole.items() for part in _inside(kind, inside))


def _cut(whole: Shape, depth: int) -> Shape:
    if depth == 0:
        return {}
    return {
        kind: {name: _cut(part, depth - 1) for name, part in inside.items()}
        if kind == "object"
        else _cut(inside, depth - 1)
        for kind, inside in whole.items()
    }


def text_in(whole: Shape) -> str:
    """What a result that is text holds in writing, such as "JSON"; "" if nothing is known."""
    return next((what for what, form in TEXT_FORMATS.items() if form in whole.get("string", ())), "")


def as_schema(whole: Shape) -> dict[str, Any]:
    """A shape as a JSON Schema; what has not been observed may be anything."""
    kinds = [
        _schema(kind, inside) for kind, inside in sorted(whole.items(), key=lambda item: (item[0] == "null", item[0]))
    ]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}


def _schema(kind: str, inside: Shape) -> dict[str, Any]:
    match kind:
        case "array":
            return {"type": "array", "items": as_schema(inside)}
        case "map":
            return {"type": "object", "additionalProperties": as_schema(inside)}
        case "object":
            return {"type": "object", "properties": {name: as_schema(part) for name, part in inside.items()}}
        case "string" if inside:
            return {"type": "string", "format": next(iter(inside))}
    return {"type": kind}
