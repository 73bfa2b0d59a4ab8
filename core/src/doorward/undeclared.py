"""Answers that are of another type than their function declares: a program that was written for that one fails, and must be told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doorward.answered import told
from doorward.types import Function, Schema
from doorward.wording import PYTHON, python_types

_TYPES = {bool: {"boolean"}, int: {"integer", "number"}, float: {"integer", "number"}, str: {"string"}, list: {"array"}, dict: {"object"}}


def unlike(function: Function, value: Any, definition: Callable[[str], Schema | None]) -> str:
    """What to say of an answer that is of another type as a whole; "" where it is as declared, nothing, or a file."""
    wanted = _wanted(function.returns, definition)
    is_file = isinstance(value, dict) and "artefact" in value
    if not wanted or value is None or is_file or wanted & _TYPES.get(type(value), wanted):
        return ""
    return f"{told(function.qualified, value)}; its signature says {python_types(sorted(wanted))}."


def _wanted(schema: Any, definition: Callable[[str], Schema | None]) -> set[str]:
    """The types that a schema names, where they are all that it allows."""
    for _ in range(5):
        if not isinstance(schema, dict) or not isinstance(ref := schema.get("$ref"), str):
            break
        schema = definition(ref.removeprefix("#/$defs/"))
    kinds = schema.get("type") if isinstance(schema, dict) else None
    named = {kinds} if isinstance(kinds, str) else set(kinds) if isinstance(kinds, list) else set()
    return named if named <= PYTHON.keys() else set()
