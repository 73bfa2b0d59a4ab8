"""A call as Cedar is asked about it: who calls which function of which server, to what effect, with which arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from doorward import Call
from doorward.values import effect

_ESCAPES = {"__entity", "__extn", "__expr"}
"""Keys by which a record of JSON would be something else to Cedar: no argument becomes an entity."""

_MAX_DEPTH = 50
_LONGS = range(-(2**63), 2**63)
_MAX_DIGITS = 4
"""Digits behind the point of a `decimal`."""

_MAX_DECIMAL = 922337203685477
"""The largest number before the point of a `decimal`."""


class Unjudgeable(ValueError):
    """A call holds what Cedar has no value for. Its text says what."""


def of_call(call: Call, groups: Iterable[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The request for a call, and its entities. Raises: Unjudgeable."""
    function = call.function
    principal, resource = _uid("Principal", str(call.principal)), _uid("Function", function.qualified)
    attributes = {"name": function.name, "route": function.route, "effect": effect(function), "tags": [*function.tags]}
    who = {"name": str(call.principal), "attributes": _value(call.caller.attributes, 0)}
    entities: list[dict[str, Any]] = [
        {"uid": principal, "attrs": who, "parents": [_uid("Group", each) for each in groups]},
        {"uid": resource, "attrs": attributes, "parents": [_uid("Server", function.server)]},
    ]
    context = {"args": _value(call.arguments, 0)}
    request = {
        "principal": principal,
        "action": _uid("Action", effect(function)),
        "resource": resource,
        "context": context,
    }
    return request, entities


def _uid(kind: str, id: str) -> dict[str, str]:
    return {"type": kind, "id": id}


def _value(value: Any, depth: int) -> Any:
    """A value as Cedar has it. A `null` in an object is left out, since Cedar has none. Raises: Unjudgeable."""
    if depth > _MAX_DEPTH:
        raise Unjudgeable("an argument is nested too deeply")
    match value:
        case bool() | str():
            return value
        case int():
            if value not in _LONGS:
                raise Unjudgeable(f"an argument has the number {str(value)[:30]}, which is too large")
            return value
        case float():
            return _decimal(value)
        case Mapping():
            return _record(value, depth)
        case list() | tuple():
            if any(each is None for each in value):
                raise Unjudgeable("an argument has a list with null in it")
            return [_value(each, depth + 1) for each in value]
    raise Unjudgeable(f"an argument is {type(value).__name__}")


def _record(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    if not all(isinstance(key, str) for key in value) or _ESCAPES & value.keys():
        raise Unjudgeable("an argument has a key that Cedar reads as something else")
    return {key: _value(each, depth + 1) for key, each in value.items() if each is not None}


def _decimal(value: float) -> dict[str, Any]:
    """A number with a point. More digits than Cedar has are cut: no policy can ask for them."""
    if not abs(value) < _MAX_DECIMAL:
        raise Unjudgeable(f"an argument has the number {value}, which is too large")
    return {"__extn": {"fn": "decimal", "arg": f"{Decimal(value):.{_MAX_DIGITS}f}"}}
