"""Errors of calls as data, so that a program that runs again is told of them in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.model import errors
from doorward.model.errors import ApiError, ConfigError, DoorwardError, InvalidProgram, RateLimited, Unsupported

_MORE: Mapping[type[DoorwardError], tuple[str, ...]] = {
    RateLimited: ("retry_after",),
    ApiError: ("status", "body", "retry_after"),
    InvalidProgram: ("line", "type"),
    Unsupported: ("line", "module"),
    ConfigError: ("place",),
}
"""What some errors say besides their message and hint."""


def said(error: DoorwardError) -> dict[str, Any]:
    """What is stored of an error; one of a plugin counts as the error of ours that it is built on."""
    name = next(each.__name__ for each in type(error).__mro__ if getattr(errors, each.__name__, None) is each)
    more = {key: getattr(error, key) for key in _keys(type(error))}
    return {"error": name, "message": error.message, "hint": error.hint, **more}


def raised(said: Mapping[str, Any]) -> DoorwardError:
    """The error again."""
    found = getattr(errors, str(said.get("error")), None)
    kind = found if isinstance(found, type) and issubclass(found, DoorwardError) else DoorwardError
    error = kind.__new__(kind)
    DoorwardError.__init__(error, said["message"], hint=said.get("hint"))
    for key in _keys(kind):
        setattr(error, key, said.get(key))
    return error


def _keys(kind: type[DoorwardError]) -> tuple[str, ...]:
    return next((keys for base, keys in _MORE.items() if issubclass(kind, base)), ())
