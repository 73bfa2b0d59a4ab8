"""Whose values a program passed to whom: `id` of `search_person` to `person_id` of `get_person`.

Values are compared as hashes under a key that is made for one run and never stored. What comes out of this module are
names of functions, parameters and fields.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from doorward_search.learning.run_record import Done

if TYPE_CHECKING:
    from doorward import Function

MIN_CHARS, MAX_CHARS, MIN_NUMBER = 4, 200, 1000
"""Texts and whole numbers that are compared: shorter and smaller ones are the same by chance."""

MAX_VALUES, MAX_DEPTH, MAX_FIELDS, MAX_LISTED = 20_000, 8, 60, 100
"""Values of all answers of a run, objects within objects, fields of an object (one with more is data by its keys), and
items of an argument that are looked at."""


class Flow(NamedTuple):
    """A field of a producer's answer became an argument of a consumer."""

    producer: str
    field: str
    consumer: str
    parameter: str


def flows(calls: Sequence[Done]) -> set[Flow]:
    """The flows of one run, each once. For threads.

    A value that the program itself had before, in its text or from elsewhere, and had said to any function, was not
    taken from an answer. Of several functions that gave it, the first of the consumer's own server counts: else a
    server that lists all numbers would be told as the source of everybody's."""
    key, left = secrets.token_bytes(16), MAX_VALUES
    given: dict[tuple[str, bytes], tuple[str, str]] = {}
    said: set[bytes] = set()
    found: set[Flow] = set()
    for function, arguments, answer in calls:
        name = function.qualified
        for parameter, value in _sent(arguments):
            hashed = _hash(key, value)
            own, any_other = (function.server, hashed), ("", hashed)
            producer, field = given.get(own) or given.get(any_other, (name, ""))
            if producer != name and _identifies(function, parameter):
                found.add(Flow(producer, field, name, parameter))
            said.add(hashed)
        for field, value in _fields(answer):
            if left <= 0:
                break
            left -= 1
            if (hashed := _hash(key, value)) not in said:
                given.setdefault((function.server, hashed), (name, field))
                given.setdefault(("", hashed), (name, field))
    return found


def _hash(key: bytes, value: str | int) -> bytes:
    return hashlib.blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()


def _tells(value: Any) -> bool:
    """Whether a value is one of many, so that meeting it again is no chance."""
    if isinstance(value, str):
        return MIN_CHARS <= len(value) <= MAX_CHARS
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) >= MIN_NUMBER


def _sent(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for parameter, value in arguments.items():
        for each in value[:MAX_LISTED] if isinstance(value, list) else (value,):
            if _tells(each):
                yield parameter, each


def _identifies(function: Function, parameter: str) -> bool:
    """Whether an argument must be given and is not one of a few words."""
    properties = function.parameters.get("properties")
    schema = properties.get(parameter) if isinstance(properties, Mapping) else None
    required = function.parameters.get("required")
    return (
        isinstance(schema, Mapping)
        and isinstance(required, (list, tuple))
        and parameter in required
        and not {"enum", "const"} & schema.keys()
    )


def _parsed(text: str) -> Any:
    """What a text holds, if it is JSON, as the answers of many MCP tools are."""
    try:
        return from_json(text)
    except ValueError:
        return None


def _fields(answer: Any) -> Iterator[tuple[str, Any]]:
    """The values in an answer that tell something, with the names of their fields."""
    todo: deque[tuple[Any, str, int]] = deque([(answer, "", 0)])
    while todo:  # what stands further out comes first
        value, field, depth = todo.popleft()
        if isinstance(value, Mapping):
            named = len(value) <= MAX_FIELDS
            inside: Iterable[tuple[Any, str]] = ((each, str(key) if named else "") for key, each in value.items())
        elif isinstance(value, list):
            inside = ((each, field) for each in value)
        elif isinstance(value, str) and value[:1] in ("{", "["):
            inside = [(_parsed(value), field)]
        else:
            if field and _tells(value):
                yield field, value
            continue
        if depth < MAX_DEPTH:
            todo.extend((each, name, depth + 1) for each, name in islice(inside, MAX_VALUES))
