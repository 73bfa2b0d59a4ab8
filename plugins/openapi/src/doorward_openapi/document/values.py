"""JSON values inside schemas: defaults, enumerations, bounds. Documents often give them in the wrong type."""

from __future__ import annotations

import marshal
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

_MAX_ENUM_VALUES = 1000


def finite(text: str) -> float | None:
    """A number for JSON parsers; None if it is too large for a float."""
    read = float(text)
    return read if math.isfinite(read) else None


def number(value: Any) -> TypeGuard[int | float]:
    """Whether a value is a finite number, and not a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def encoded(value: Any) -> bytes:
    """Bytes that are the same for equal values of the same types."""
    return marshal.dumps(value, 2)


def small(value: Any, depth: int = 0) -> bool:
    """Whether a value is plain JSON and small enough to be repeated in every listing."""
    match value:
        case str():
            return len(value) <= 500
        case None | bool() | int() | float():
            return True
        case list():
            return depth < 4 and len(value) <= 50 and all(small(v, depth + 1) for v in value)
        case dict():
            return depth < 4 and len(value) <= 50 and all(small(v, depth + 1) for v in value.values())
    return False


def matching(values: Sequence[Any], kind: Any) -> list[Any]:
    """The values of an `enum` converted to the schema's type; empty if that is not possible.

    YAML reads `enum: [on, 1, 2.0]` of a string as other types; `type: integer` stands next to quoted numbers.
    """
    kinds = kind if isinstance(kind, list) else [kind]
    try:
        fitting = [value if value is None else _as(value, kinds) for value in values[:_MAX_ENUM_VALUES]]
    except (ValueError, TypeError, OverflowError):
        return []
    return list({(type(v), v): v for v in fitting}.values()) if len(values) <= _MAX_ENUM_VALUES else []


def _as(value: Any, kinds: Sequence[Any]) -> Any:
    if isinstance(value, str) and len(value) > 500:
        raise ValueError
    if not isinstance(value, (str, bool, int, float)):
        raise TypeError
    if "string" in kinds:
        return value if isinstance(value, str) or len(kinds) > 1 else wire_text(value)
    if isinstance(value, str):
        if "integer" in kinds:
            return int(value)
        if "number" in kinds:
            return float(value)
        if "boolean" in kinds:
            return {"true": True, "false": False}[value.lower()] if value.lower() in ("true", "false") else _wrong()
    return value


def _wrong() -> Any:
    raise ValueError


def wire_text(value: Any) -> str:
    """A scalar as URLs, headers and forms have it: `true`, `3`, `1.5`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def integral(value: Any) -> Any:
    """Integers as such that are written as `10.0`, also in a list; anything else unchanged."""
    if isinstance(value, list):
        return [integral(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def bounds(node: Mapping[str, Any], out: dict[str, Any]) -> None:
    """Copy numeric bounds; `exclusive…` was a flag before 3.1. A bound that does not fit into 64 bits is left out."""
    for low, strict in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        bound, beyond = node.get(low), node.get(strict)
        if number(bound) and abs(bound) < 2**63:
            out[strict if beyond is True else low] = bound
        if number(beyond) and abs(beyond) < 2**63:
            out[strict] = beyond
    step = node.get("multipleOf")
    if number(step) and step > 0:
        out["multipleOf"] = step
