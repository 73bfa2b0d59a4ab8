"""Finds the list of items in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from doorward.describe.schemas import Definitions, Reader, kinds, variants
from doorward.model.functions import Function

_LIST_NAMES = (
    "data", "items", "results", "value", "values", "records", "entries", "rows", "content", "elements", "list",
    "resources", "nodes", "edges", "hits", "objects", "documents", "members",
)  # fmt: skip
"""Usual names of the list of items in an answer, the likeliest first, as `_plain` writes them."""

_OUTER_NAMES = ("data", "result", "results", "response", "embedded", "hits")
"""Usual names of an object that holds this list."""

_SIDE_LIST_NAMES = {"errors", "warnings", "messages", "links", "errormessages", "warningmessages", "facets", "included"}
"""Names of lists that accompany the items."""

_MAX_DEPTH = 5
_PUNCTUATION = re.compile(r"[^a-z0-9]")


def items_of(value: Any, depth: int = 0) -> list[Any] | None:
    """The list of items in an answer: the answer itself, else a list with a usual name, else the only list; `None` if
    there is no such list."""
    if isinstance(value, list) or not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value if isinstance(value, list) else None
    plain = {_plain(key): inner for key, inner in value.items()}
    for name in _LIST_NAMES:
        if isinstance(plain.get(name), list):
            return list(plain[name])
    lists = lists_in(value)
    if len(lists) == 1:
        return list(value[lists[0]])
    found = {
        name: items
        for name, inner in plain.items()
        if isinstance(inner, dict) and (items := items_of(inner, depth + 1)) is not None
    }
    return next(
        (found[name] for name in _OUTER_NAMES if name in found),
        next(iter(found.values())) if len(found) == 1 and not lists else None,
    )


def lists_in(value: dict[str, Any]) -> list[str]:
    """The keys of the lists in an object."""
    return [key for key, inner in value.items() if isinstance(inner, list) and _plain(key) not in _SIDE_LIST_NAMES]


def at(value: Any, keys: Sequence[str]) -> list[Any] | None:
    """The list at the end of these keys. If it is missing or null, an empty list."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
        if value is None:
            return []
    return value if isinstance(value, list) else None


def declared(function: Function, definitions: Definitions) -> tuple[str, ...]:
    """The key of the only list in the schema of a function's result; empty if there is none, or several."""
    reader = Reader(definitions)
    properties = reader.properties(reader.resolve(function.returns)[1], hidden="writeOnly")
    lists = [
        name for name, schema in properties.items() if _is_list(reader, schema) and _plain(name) not in _SIDE_LIST_NAMES
    ]
    return (lists[0],) if len(lists) == 1 else ()


def _is_list(reader: Reader, schema: Any) -> bool:
    resolved = reader.resolve(schema)[1]
    return any("array" in kinds(reader.resolve(each)[1]) for each in (resolved, *variants(resolved)))


def _plain(name: str) -> str:
    lower = name.lower()
    return lower if lower.isascii() and lower.isalnum() else _PUNCTUATION.sub("", lower)
