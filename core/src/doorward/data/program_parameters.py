"""Checks new values for the parameters of a program. What these are says an executor that reads its language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from doorward.data.words import nearest
from doorward.model.errors import InvalidProgram


def check(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Check new values against a program's parameters, by name and by the JSON type of their defaults.

    Raises: InvalidProgram with the parameter, similar names, and what is expected.
    """
    for name, value in given.items():
        if name not in known:
            raise _unknown(name, known)
        expected, got = json_type(known[name]), json_type(value)
        if expected not in ("null", got) and not (expected == "number" and got == "integer"):
            raise InvalidProgram(
                f"parameter {name!r} is of type {expected}, got {got}",
                hint=f"Its default is {json.dumps(known[name])[:100]}.",
            )


def check_used(given: Mapping[str, Any], known: Mapping[str, Any], code: str) -> None:
    """Check that a program has a use for each value: it assigns or reads the name somewhere.

    Raises: InvalidProgram with the parameter, and similar names.
    """
    for name in given:
        if name not in known and not re.search(rf"\b{re.escape(name)}\b", code):
            raise _unknown(name, known)


def _unknown(name: str, known: Mapping[str, Any]) -> InvalidProgram:
    near = nearest(name, known, 1)
    listing = ", ".join(f"{k}: {json_type(v)}" for k, v in known.items())
    return InvalidProgram(
        f"the program has no parameter {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        hint=f"Its parameters: {listing}." if listing else f"It has none: leave it out, or read {name} in the program.",
    )


def check_names(params: Mapping[str, Any]) -> None:
    """Raises: InvalidProgram for a parameter that cannot be a variable."""
    for name in params:
        if not (name.isidentifier() and name.isascii()) or name.startswith("__"):
            raise InvalidProgram(f"{name!r} cannot be a parameter", hint="Use a name that a variable may have.")


def json_type(value: Any) -> str:
    """The JSON Schema name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"
