"""Explains refusals of arguments that match the API's document: if the error names a place, the class at that place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from doorward import ApiError, DoorwardError, Function
from doorward.texts import MAX_NESTING, Definitions, Reader

from doorward_text.cards import class_at

_PATH = re.compile(r"[\w$#@./\[\]-]+")
_SEPARATORS = re.compile(r"[./\[\]]+")
_WRAPPER_NAMES = {"body", "json", "data", "payload", "input", "request", "requestbody", "query", "params", "$", "#", ""}
"""Parts of a path before the name of an argument (FastAPI, JSON pointers, JSONPath)."""

_SEARCHED_CHARS = 2000
"""Characters of a message that are searched for places."""

_MAX_PLACES = 10
"""Places that are tried."""


def class_refused(function: Function, error: DoorwardError, definitions: Definitions, language: str = "python") -> str:
    """The class at the first place in the arguments that an error of status 4xx names; empty if there is none."""
    if not isinstance(error, ApiError) or not 400 <= error.status < 500:
        return ""
    places = [
        path for path in _PATH.findall(error.message[:_SEARCHED_CHARS]) if _SEPARATORS.search(path.strip("./[]"))
    ][:_MAX_PLACES]
    for path in places:
        place = _place(function, _SEPARATORS.split(path.rstrip("./[]"))[:MAX_NESTING], definitions)
        if place and (text := class_at(function, definitions, place, language)):
            return text
    return ""


def _place(function: Function, parts: Sequence[str], definitions: Definitions) -> list[Any]:
    """The place that a path means; empty if the arguments have no such place. The last part need not exist: it may be
    the mistake."""
    return next((place for place in _places(function, parts) if _is_there(function, place, definitions)), [])


def _places(function: Function, parts: Sequence[str]) -> Iterator[list[Any]]:
    ours = {theirs: name for name, theirs in function.names.items()}
    for at, part in enumerate(parts):
        yield [ours.get(part, part), *(int(p) if p.isdecimal() and len(p) < 9 else p for p in parts[at + 1 :] if p)]
        if part.lower() not in _WRAPPER_NAMES:
            break


def _is_there(function: Function, place: Sequence[Any], definitions: Definitions) -> bool:
    if place[0] not in function.parameters.get("properties", {}):
        return False
    reader = Reader(definitions)
    schema: Any = function.parameters
    for step in place[:-1]:
        schema = reader.part(schema, step)
    return schema is not None
