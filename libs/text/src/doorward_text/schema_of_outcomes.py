"""The JSON Schema of a run's answer, made from the dataclass `Outcome`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from doorward import Outcome

_NO_PARTS: Mapping[str, type] = {}
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def outcome_schema(parts: Mapping[str, type] = _NO_PARTS) -> dict[str, Any]:
    """The schema of what `outcome_as_dict` returns: every field, and the fields of its parts, with their types.
    `parts` are those that plugins add, each with its type."""
    own, types = get_type_hints(Outcome), {name: _schema(kind) for name, kind in parts.items()}
    known = _with_parts({name: _schema(own[name]) for name in _own_names()}, types)
    return {"type": "object", "properties": known, "required": ["ok", "ms"]}


def outcome_names(parts: Iterable[str] = ()) -> dict[str, Any]:
    """The same with names alone: the definition of a tool takes room in the context of every client."""
    named = _with_parts({name: {} for name in _own_names()}, {name: {} for name in parts})
    return {"type": "object", "properties": named, "required": ["ok"]}


def _own_names() -> list[str]:
    return [field.name for field in fields(Outcome) if field.name != "parts"]


def _with_parts(own: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of an answer in their order: parts stand where `parts` does."""
    place = [field.name for field in fields(Outcome)].index("parts")
    return dict([*[*own.items()][:place], *parts.items(), *[*own.items()][place:]])


def _schema(kind: Any) -> dict[str, Any]:
    """The schema of a type. No field of a dataclass is required: an answer leaves out empty ones."""
    if kind is Any:
        return {}
    if kind in _JSON_TYPES:
        return {"type": _JSON_TYPES[kind]}
    parts = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) is Literal:
        return {"enum": parts}
    if isinstance(kind, UnionType):
        return _schema(parts[0]) if len(parts) == 1 else {"anyOf": [*map(_schema, parts)]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _schema(parts[0])}
    if is_dataclass(kind) or is_typeddict(kind):
        own = {name.rstrip("_"): _schema(part) for name, part in get_type_hints(kind).items()}
        return {"type": "object", "properties": own} | (
            {"required": [name for name in own if name in kind.__required_keys__]} if is_typeddict(kind) else {}
        )
    assert get_origin(kind) is Mapping, kind
    return {"type": "object", "additionalProperties": _schema(get_args(kind)[1])}
