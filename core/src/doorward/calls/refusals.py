"""What an API refuses in arguments that fit its document: the class there, where its words name a place among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from doorward.describe.cards import class_at
from doorward.describe.schemas import MAX_NESTING, Definitions, Reader
from doorward.model.errors import ApiError, DoorwardError
from doorward.model.types import Function

_PATH = re.compile(r"[\w$#@./\[\]-]+")
_BETWEEN = re.compile(r"[./\[\]]+")
_AROUND = {"body", "json", "data", "payload", "input", "request", "requestbody", "query", "params", "$", "#", ""}
"""What stands before the names of arguments (FastAPI, JSON pointers, JSONPath)."""

_READ = 2000
"""Characters of a message in which places are looked for."""
_MOST = 10
"""Places that are looked at."""


def class_refused(function: Function, error: DoorwardError, definitions: Definitions) -> str:
    """The class at the first place among the arguments that an answer of 400 to 499 names; "" if it names none."""
    if not isinstance(error, ApiError) or not 400 <= error.status < 500:
        return ""
    places = [path for path in _PATH.findall(error.message[:_READ]) if _BETWEEN.search(path.strip("./[]"))][:_MOST]
    for path in places:
        place = _place(function, _BETWEEN.split(path.rstrip("./[]"))[:MAX_NESTING], definitions)
        if place and (text := class_at(function, definitions, place)):
            return text
    return ""


def _place(function: Function, parts: Sequence[str], definitions: Definitions) -> list[Any]:
    """The place that a path means; none if the arguments have no such place, but for its last part, which may be what
    is wrong."""
    return next((place for place in _places(function, parts) if _is_there(function, place, definitions)), [])


def _places(function: Function, parts: Sequence[str]) -> Iterator[list[Any]]:
    ours = {theirs: name for name, theirs in function.names.items()}
    for at, part in enumerate(parts):
        yield [ours.get(part, part), *(int(p) if p.isdecimal() and len(p) < 9 else p for p in parts[at + 1 :] if p)]
        if part.lower() not in _AROUND:
            break


def _is_there(function: Function, place: Sequence[Any], definitions: Definitions) -> bool:
    if place[0] not in function.parameters.get("properties", {}):
        return False
    reader = Reader(definitions)
    schema: Any = function.parameters
    for step in place[:-1]:
        schema = reader.part(schema, step)
    return schema is not None
