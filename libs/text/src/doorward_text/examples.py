"""Example calls: plausible values for the arguments that a function requires, which pass the checks of a call.

A document's own examples and defaults are often of another type, or too long: each value is checked, and where none
passes there is no example.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from doorward import Function, Schema
from doorward.texts import Definitions, Reader, kinds, listed, strings, table, validator, value_validator, variants

from doorward_text.dialect import PYTHON, Dialect

_MAX_ARGUMENTS = 20
_MAX_VALUE_CHARS = 80
"""Characters of a value that a document gives."""

_MAX_CHARS = 600
"""Characters of all arguments."""

_MAX_VALUES = 300
"""Values that one try may be made of."""

_MAX_ITEMS = 20
_NESTING = 8
_NESTING_OF_LISTS = 3
"""Levels at which a list may still have items that it does not need."""

_TRIES = 6
"""With a document's own values and without them; then with other variants."""

_FORMAT_EXAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "time": "12:00:00Z",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def example_call(function: Function, definitions: Definitions, module: str, words: Dialect) -> str:
    """An example call with the required arguments; "" if none was found that passes the checks."""
    given = example_arguments(function, definitions, words)
    if given is None:
        return ""
    written = {name: words.literal(value, _MAX_CHARS) or "" for name, value in given.items()}
    return words.example(module, function, written.items()) if sum(map(len, written.values())) <= _MAX_CHARS else ""


def example_arguments(function: Function, definitions: Definitions, words: Dialect = PYTHON) -> dict[str, Any] | None:
    """Values of the required arguments that pass the checks of a call, and can be written; `None` if none were
    found."""
    reader = Reader(definitions)
    resolved = reader.resolve(function.parameters)[1]
    properties, required = reader.properties(resolved), strings(resolved.get("required"))
    if not required and not variants(resolved):
        return {}
    if (checked := validator(function.parameters, definitions)) is None:
        return None
    given: dict[str, Any] = {}
    refused = {*required}
    for number in range(_TRIES):
        reader.refuel()
        trial = _Try(reader, number)
        wanted = [name for name in properties if name in required | trial.required(resolved)]
        if len(wanted) > _MAX_ARGUMENTS:
            return None
        given = {n: trial.value(properties[n], n) if n in refused or n not in given else given[n] for n in wanted}
        try:
            refused = {next(iter(error.instance_path), "") for error in checked.iter_errors(given)}
        except ValueError:  # a name that no request can hold
            return None
        refused |= {name for name, value in given.items() if words.literal(value, _MAX_CHARS) is None}
        if not refused:
            return given
    return None


class _Try:
    """One try to make a value. The first takes values that the document gives, the later ones take other variants."""

    def __init__(self, reader: Reader, number: int = 0) -> None:
        self._reader = reader
        self._takes_given = number == 0
        self._variant = max(0, number - 1)
        self._left = _MAX_VALUES

    def value(self, schema: Any, name: str, nesting: int = 0, place: int = 0) -> Any:
        """A value; where it must differ from others of a list, one of its own for its `place`."""
        resolved = self._reader.resolve(schema)[1]
        self._left -= 1
        if nesting > _NESTING or self._left < 0:
            return name
        check = value_validator(resolved)
        for value in islice(self._fixed(resolved), place, None):
            if PYTHON.literal(value, _MAX_VALUE_CHARS) is not None and _fits(check, value):
                return value
        if variants(resolved) and not table(resolved.get("properties")):
            return self.value(self._chosen(resolved), name, nesting + 1, place)
        fields = self._reader.properties(resolved)
        possible = [kind for kind in kinds(resolved) if kind != "null"] or ["null" if kinds(resolved) else "string"]
        match "object" if fields else possible[0]:
            case "integer" | "number":
                return next((number for number in _numbers(resolved, place) if _fits(check, number)), 1)
            case "boolean":
                return True
            case "null":
                return None
            case "array":
                return self._list(resolved, name, nesting)
            case "object":
                required = strings(resolved.get("required")) | self.required(resolved)
                return self._object(resolved, fields, required, nesting)
        texts = _texts(resolved, f"{name}{place + 1}" if place else name, place)
        return next((text for text in texts if _fits(check, text)), name)

    def required(self, schema: Schema) -> set[str]:
        """What the variant of an object requires that this try takes."""
        return strings(self._reader.resolve(self._chosen(schema))[1].get("required"))

    def _chosen(self, schema: Schema) -> Any:
        offered = [each for each in variants(schema) if table(each).get("type") != "null"]
        return offered[self._variant % len(offered)] if offered else {}

    def _fixed(self, schema: Schema) -> Iterator[Any]:
        """The values that a schema names: those of the document's author first."""
        if self._takes_given:
            yield from (schema[key] for key in ("example", "default") if schema.get(key) is not None)
            yield from listed(schema.get("examples"), 1)
        yield from (schema[key] for key in ("const",) if key in schema)
        for key in ("enum", "x-values"):
            yield from listed(schema.get(key), _MAX_ITEMS)

    def _list(self, schema: Schema, name: str, nesting: int) -> list[Any]:
        first = listed(schema.get("prefixItems"), 5)
        least, most = _count(schema.get("minItems"), 0), _count(schema.get("maxItems"), _MAX_ITEMS)
        has_items = bool(first) or "items" in schema
        wanted = max(least, min(most, len(first) or 1) if has_items and nesting < _NESTING_OF_LISTS else 0)
        parts = [*first, *[schema.get("items", {})] * max(0, wanted - len(first))][:wanted]
        is_set = schema.get("uniqueItems") is True
        return [self.value(part, name, nesting + 1, place * is_set) for place, part in enumerate(parts)]

    def _object(self, schema: Schema, fields: Mapping[str, Any], required: set[str], nesting: int) -> dict[str, Any]:
        wanted = {key: part for key, part in fields.items() if key in required}
        lacks = _count(schema.get("minProperties"), 0) - len(wanted)
        others = [*fields.items(), *((f"key{number}", schema.get("additionalProperties")) for number in range(lacks))]
        wanted |= [other for other in others if other[0] not in wanted][: max(0, lacks)]
        return {key: self.value(part, key, nesting + 1) for key, part in wanted.items()}


def _fits(check: Any, value: Any) -> bool:
    try:
        return bool(check.is_valid(value))
    except ValueError:  # text that no request can hold
        return False


def _numbers(schema: Schema, place: int) -> Iterator[int | float]:
    """Numbers that should be within the bounds of a schema: 1 where it may be."""
    bounds = [_bound(schema.get(key)) for key in ("minimum", "exclusiveMinimum", "exclusiveMaximum", "maximum")]
    step = _bound(schema.get("multipleOf")) or 1
    known = [bound for bound in bounds if bound is not None]
    for near in (1, *known, *(bound + side * step for bound in known for side in (1, -1)), sum(known) / 2):
        number = (math.ceil(near / step) + place) * step
        yield int(number) if number == int(number) else number
        yield near


def _bound(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _count(value: Any, otherwise: int) -> int:
    return min(value, _MAX_ITEMS) if type(value) is int and value >= 0 else otherwise


def _texts(schema: Schema, name: str, place: int) -> Iterator[str]:
    """Texts that should fit a schema, the plausible ones first."""
    form, pattern, most = schema.get("format"), schema.get("pattern"), schema.get("maxLength")
    least = schema["minLength"] if type(schema.get("minLength")) is int else 0
    usual = [_FORMAT_EXAMPLES[form]] if isinstance(form, str) and form in _FORMAT_EXAMPLES else []
    for text in (*usual[place:], name, str(place + 1)):
        yield text
        if text and len(text) < least <= _MAX_CHARS:
            yield (text * least)[:least]
        if type(most) is int:
            yield text[: max(0, most)]
    if isinstance(pattern, str):
        from doorward_text.pattern_text import text_matching

        found = dict.fromkeys(text_matching(pattern, more) for more in (place, place + 1, least))
        yield from (text for text in found if text is not None)
