"""The members of a union as one annotation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from doorward_text.dialect import PYTHON, Dialect
from doorward_text.wording import examples

_MAX_LITERALS = 20
_WHOLE_NUMBER = re.compile(r"-?\d+")


class Value(str):
    """A member of a union that is a value; all values of a union are written together."""

    __slots__ = ()


def union(members: Iterable[str], dialect: Dialect = PYTHON) -> tuple[str, str]:
    """Members as one annotation: values together, null last, too many values as their plain type. Then the second text
    gives examples of the values."""
    unique = list(dict.fromkeys(members))
    values = [m for m in unique if isinstance(m, Value)]
    others = [m for m in unique if not isinstance(m, Value) and m != dialect.null]
    if set(map(dialect.literal, (True, False))) <= set(values):
        others.append(dialect.types["boolean"])
        values = [v for v in values if _kind_of(v) != "boolean"]
    types, note = dict.fromkeys(dialect.types[_kind_of(v)] for v in values), ""
    text = dialect.values(values)
    if len(values) > _MAX_LITERALS or len(text) > 240 or types.keys() & set(others):
        note = examples(values)
        others = [*dict.fromkeys([*types, *others])]
    elif values:
        others.insert(0, text)
    none = [m for m in unique if m == dialect.null]
    if dialect.any in others or not [*others, *none] or len(others) > 8:
        return dialect.any, note
    joined = " | ".join([*others, *none])
    return (joined if len(joined) <= 400 else dialect.any), note


def value_of(value: Any, dialect: Dialect = PYTHON) -> str:
    """A value of an enum as a member of a union."""
    match value:
        case None:
            return dialect.null
        case bool() | int() | str():
            text = dialect.literal(value)
            kind = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"
            return Value(text) if text is not None else dialect.types[kind]
        case float():
            return dialect.types["number"]
        case list():
            return dialect.array(dialect.any)
    return dialect.record(dialect.any) if isinstance(value, Mapping) else dialect.any


def _kind_of(value: Value) -> str:
    return "string" if value.startswith('"') else "integer" if _WHOLE_NUMBER.fullmatch(value) else "boolean"
