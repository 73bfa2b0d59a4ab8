"""The limits of a value that a schema sets, in words: for the comment of a parameter."""

from __future__ import annotations

from typing import Any

from doorward import Schema

_MAX_PATTERN_CHARS = 80
_SELF_EVIDENT = 2**31 - 1
"""From here on a bound is only that of a number type."""

_COUNTED = {"string": ("minLength", "maxLength", "character"), "array": ("minItems", "maxItems", "item")}


def in_words(schema: Schema, kind: str) -> str:
    """The limits that a schema sets to values of a type; "" if there are none."""
    found = []
    if kind in _COUNTED:
        low, high, what = _COUNTED[kind]
        least, most = _number(schema.get(low)) or None, _number(schema.get(high))
        if amount := _between(least, most):
            found.append(f"{amount} {what}{'s' * ((least if most is None else most) != 1)}")
    if kind in ("integer", "number"):
        found += [
            _between(_number(schema.get("minimum")), _number(schema.get("maximum"))),
            *(f"{how} {n}" for key, how in _OTHER_BOUNDS.items() if (n := _number(schema.get(key))) is not None),
        ]
    if kind == "string" and isinstance(pattern := schema.get("pattern"), str):
        found.append(f"matches {pattern}" if len(pattern) <= _MAX_PATTERN_CHARS else "matches a long pattern")
    return ", ".join(filter(None, found))


_OTHER_BOUNDS = {"exclusiveMinimum": "more than", "exclusiveMaximum": "less than", "multipleOf": "a multiple of"}


def _between(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return f"at most {most}" if most is not None else f"at least {least}" if least is not None else ""
    return f"{least} to {most}" if least != most else f"{least}"


def _number(value: Any) -> int | float | None:
    is_bound = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _SELF_EVIDENT
    return value if is_bound else None
