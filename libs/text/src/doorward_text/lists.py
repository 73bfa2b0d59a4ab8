"""Finds the list of items in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from doorward import Function
from doorward.texts import Definitions, Reader, kinds, variants

_LIST_NAMES = (
    "data", "items", "results", "value", "values", "records", "entries", "rows", "content", "elements", "list",
    "resources", "nodes", "edges", "hits", "objects", "documents", "members",
)  # fmt: skip
"""Usual names of the list of items in an answer, the likeliest first, as `_plain` writes them."""

_OUTER_NAMES = ("data", "result", "results", "response", "embedded", "hits")
"""Usual names of an object that holds this list."""

_SIDE_LIST_NAMES = {"errors", "warnings", "messages", "links", "errormessages", "warningmessages", "facets", "included"}
"""Names of lists that accompany the items."""

_ALSO_MAIN = "messages"
"""The one that is the list itself where it has objects and no other list is there: an API of messages."""

_OF_PAGES = re.compile(
    r"(?:odata)?next(?:page[a-z]{0,20}|token|cursor|link|marker|url|uri|offset)?|(?:has|is)?(?:more|truncated|lastpage)"
    r"|total(?:count|results|items|pages|records|hits|elements|size|rows)?|count|page(?:info|size|number|token|count)?"
    r"|perpage|offset|limit|cursor|paging|pagination"
)
"""What an answer says of pages, as `_plain` writes it."""

_MAX_KEYS = 200
"""Keys of an object that are looked at for what it is."""

_MAX_DEPTH = 5
_PUNCTUATION = re.compile(r"[^a-z0-9]")


def items_of(value: Any) -> list[Any] | None:
    """The list of items in an answer: the answer itself, else a list with a usual name, else the only list; `None` if
    there is no such list."""
    keys = keys_to_items(value)
    return None if keys is None else at(value, keys)


def keys_to_items(value: Any, depth: int = 0) -> tuple[str, ...] | None:
    """The keys that lead to the list of items in an answer; `None` if there is no such list."""
    if isinstance(value, list) or not isinstance(value, dict) or depth > _MAX_DEPTH:
        return () if isinstance(value, list) else None
    plain = {_plain(key): key for key in value}
    for name in _LIST_NAMES:
        if name in plain and isinstance(value[plain[name]], list):
            return (plain[name],)
    lists = lists_in(value)
    if len(lists) == 1:
        return (lists[0],)
    found = {
        name: (key, *keys)
        for name, key in plain.items()
        if isinstance(value[key], dict) and (keys := keys_to_items(value[key], depth + 1)) is not None
    }
    if not found and [_plain(key) for key, inner in value.items() if isinstance(inner, list)] == [_ALSO_MAIN]:
        key = plain[_ALSO_MAIN]
        return (key,) if all(isinstance(item, dict) for item in value[key]) else None
    return next(
        (found[name] for name in _OUTER_NAMES if name in found),
        next(iter(found.values())) if len(found) == 1 and not lists else None,
    )


def is_field_of_one(function: str, route: str, value: Any, keys: Sequence[str]) -> bool | None:
    """Whether the list at the end of these keys belongs to one thing, as its tags do, and is no list of what a function
    answers; `None` if it may. A thing has an id, or its route ends with one. A list that has the name of the function,
    or stands beside what is said of pages, is none of these."""
    if not keys:
        return False
    objects = [value]
    for key in keys[:-1]:
        objects.append(objects[-1][key])
    known = {_plain(key) for each in objects for key in islice(each, _MAX_KEYS)}
    name, last = _plain(function), _plain(keys[-1])
    if last.removesuffix("s") in name or any(map(_OF_PAGES.fullmatch, known)):
        return False
    ids = {"id", "uuid", "guid", "uid"}
    has_id = any(each in ids or (len(each) > 2 and each.endswith("id") and each[:-2] in name) for each in known)
    is_usual = last in _LIST_NAMES or last in _OUTER_NAMES
    if has_id and not is_usual:
        return True
    return None if has_id or (route.endswith("}") and not is_usual) else False


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


def declared_list(function: Function, definitions: Definitions) -> tuple[str, ...]:
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
