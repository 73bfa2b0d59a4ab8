"""Parts of a model's answer that its schema bounds so much that they carry nobody's words: enumerations, numbers and
dates.

A rule of the operator says which of them lose the label of what the model was shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["enumeration", "number", "date"]
"""Kinds of values that can be declassified."""

_DATES = frozenset({"date", "date-time", "time", "duration"})
_DATE = re.compile(r"[\dTtZzPYMWDHS:+.,-]{1,40}")
_NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,20})?")
_MOST_DEPTH = 20


def split(value: Any, schema: Any, kinds: frozenset[Kind]) -> tuple[list[str | float], list[str | float]]:
    """The texts and numbers of a value that fits a schema: those that are declassified, and all others."""
    free: list[str | float] = []
    others: list[str | float] = []
    _split(value, schema, kinds, free, others, _MOST_DEPTH)
    return free, others


def is_bounded(schema: Any, kinds: frozenset[Kind]) -> bool:
    """Whether each value that fits a schema is declassified as a whole."""
    return _is_bounded(schema, kinds, _MOST_DEPTH)


def _split(
    value: Any, schema: Any, kinds: frozenset[Kind], free: list[str | float], others: list[str | float], depth: int
) -> None:
    if not isinstance(schema, Mapping) or not depth:
        schema = {}
    match value:
        case Mapping():
            known = schema.get("properties")
            for key, each in value.items():
                part = known.get(key) if isinstance(known, Mapping) else None
                if part is None:
                    others.append(str(key))
                _split(each, part, kinds, free, others, depth - 1)
        case list() | tuple():
            for each in value:
                _split(each, schema.get("items"), kinds, free, others, depth - 1)
        case bool() | None:
            pass
        case str() | int() | float():
            (free if _kind(schema) in kinds and _fits(value, schema) else others).append(value)
        case _:
            others.append(str(value))


def _fits(value: str | float, schema: Mapping[str, Any]) -> bool:
    """Whether a value is what its schema says: who answers may be anybody."""
    if "enum" in schema or "const" in schema:
        return value in [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    if _kind(schema) == "date":
        return isinstance(value, str) and _DATE.fullmatch(value) is not None
    return not isinstance(value, str) or _NUMBER.fullmatch(value) is not None


def _is_bounded(schema: Any, kinds: frozenset[Kind], depth: int) -> bool:
    if not isinstance(schema, Mapping) or not depth:
        return False
    match schema.get("type"):
        case "object":
            parts = schema.get("properties")
            return (
                isinstance(parts, Mapping)
                and schema.get("additionalProperties") is False
                and all(_is_bounded(each, kinds, depth - 1) for each in parts.values())
            )
        case "array":
            return _is_bounded(schema.get("items"), kinds, depth - 1)
        case "boolean" | "null":
            return True
        case _:
            return _kind(schema) in kinds


def _kind(schema: Mapping[str, Any]) -> Kind | None:
    """The kind of the simple values that fit a schema; `None` if they may be any text."""
    if "enum" in schema or "const" in schema:
        return "enumeration"
    match schema.get("type"):
        case "number" | "integer":
            return "number"
        case "string" if schema.get("format") in _DATES:
            return "date"
    return None
