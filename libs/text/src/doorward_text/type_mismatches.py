"""Answers of another type than their function declares: a program that relies on it fails, and must be told why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from doorward import Function, Schema

from doorward_text.value_text import told
from doorward_text.wording import PYTHON_TYPES, python_types

_JSON_TYPES = {
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"integer", "number"},
    str: {"string"},
    list: {"array"},
    dict: {"object"},
}
_MAX_MEMBERS = 100


def type_mismatch(function: Function, value: Any, definition: Callable[[str], Schema | None]) -> str:
    """A sentence about an answer, or a member of it, that is not of the declared type; "" if all are, or if the answer
    is `None` or a file."""
    schema = _resolved(function.returns, definition)
    if declared := _mismatch(schema, value):
        return f"{told(function.qualified, value)}; its signature says {declared}."
    members = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(members, dict) and isinstance(value, dict) and "artefact" not in value:
        for name in islice((name for name in members if value.get(name) is not None), _MAX_MEMBERS):
            if declared := _mismatch(_resolved(members[name], definition), value[name]):
                return f"{told(function.qualified, value[name], name)}; its signature says {declared}."
    return ""


def _mismatch(schema: Any, value: Any) -> str:
    """The declared types in words, if the value is of none of them."""
    wanted = _wanted(schema)
    is_file = isinstance(value, dict) and "artefact" in value
    if not wanted or value is None or is_file or wanted & _JSON_TYPES.get(type(value), wanted):
        return ""
    return python_types(sorted(wanted))


def _resolved(schema: Any, definition: Callable[[str], Schema | None]) -> Any:
    for _ in range(5):
        if not isinstance(schema, dict) or not isinstance(ref := schema.get("$ref"), str):
            break
        schema = definition(ref.removeprefix("#/$defs/"))
    return schema


def _wanted(schema: Any) -> set[str]:
    """The types that a resolved schema names; none if it names one that is unknown."""
    kinds = schema.get("type") if isinstance(schema, dict) else None
    named = {kinds} if isinstance(kinds, str) else set(kinds) if isinstance(kinds, list) else set()
    return named if named <= PYTHON_TYPES.keys() else set()
