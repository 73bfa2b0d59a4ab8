"""The members of a union as one annotation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from doorward.data.wording import examples, literal

_MAX_LITERALS = 20


class Value(str):
    """A member of a union that is a value, and so goes into the union's one `Literal`."""

    __slots__ = ()


def union(members: Iterable[str]) -> tuple[str, str]:
    """Members as one annotation: values in one Literal, None last, too many values as their plain type. Then the second
    text gives examples of the values."""
    unique = list(dict.fromkeys(members))
    values = [m for m in unique if isinstance(m, Value)]
    others = [m for m in unique if not isinstance(m, Value) and m != "None"]
    if {"True", "False"} <= set(values):
        others.append("bool")
        values = [v for v in values if _type_of(v) != "bool"]
    types, note = dict.fromkeys(map(_type_of, values)), ""
    text = f"Literal[{', '.join(values)}]"
    if len(values) > _MAX_LITERALS or len(text) > 240 or types.keys() & set(others):
        note = examples(values)
        others = [*dict.fromkeys([*types, *others])]
    elif values:
        others.insert(0, text)
    none = [m for m in unique if m == "None"]
    if "Any" in others or not [*others, *none] or len(others) > 8:
        return "Any", note
    joined = " | ".join([*others, *none])
    return (joined if len(joined) <= 400 else "Any"), note


def value_of(value: Any) -> str:
    """A value of an enum as a member of a union."""
    match value:
        case None:
            return "None"
        case bool() | int() | str():
            text = literal(value)
            return Value(text) if text is not None else type(value).__name__
        case float():
            return "float"
        case list():
            return "list[Any]"
    return "dict[str, Any]" if isinstance(value, Mapping) else "Any"


def _type_of(value: Value) -> str:
    return "str" if value.startswith('"') else "bool" if value in ("True", "False") else "int"
