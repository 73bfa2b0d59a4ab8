"""Errors of calls as data, so that a program that runs again is told of them in the same words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doorward import ApiError, ConfigError, DoorwardError, InvalidProgram, RateLimited, Unsupported

_MORE: Mapping[type[DoorwardError], tuple[str, ...]] = {
    RateLimited: ("retry_after",),
    ApiError: ("status", "body", "retry_after"),
    InvalidProgram: ("line", "type"),
    Unsupported: ("line", "module"),
    ConfigError: ("place",),
}
"""What some errors say besides their message and hint."""

_OURS = (DoorwardError.__module__, __name__)
"""Where errors are declared that are no other plugin's."""


class RunInterrupted(DoorwardError):
    """A run of the same program was cut off after it had written something, and can go on: so the program is not begun
    again before somebody has decided that."""


class PlanOutdated(DoorwardError):
    """What a plan had read has changed since, so nothing of it was written."""


def said(error: DoorwardError) -> dict[str, Any]:
    """What is stored of an error; one of a plugin counts as the error of ours that it is built on."""
    name = next(each.__name__ for each in type(error).__mro__ if each.__module__ in _OURS)
    more = {key: getattr(error, key) for key in _keys(type(error))}
    return {"error": name, "message": error.message, "hint": error.hint, **more}


def raised(said: Mapping[str, Any]) -> DoorwardError:
    """The error again."""
    kind = next((each for each in _all(DoorwardError) if each.__name__ == said.get("error")), DoorwardError)
    error = kind.__new__(kind)
    DoorwardError.__init__(error, said["message"], hint=said.get("hint"))
    for key in _keys(kind):
        setattr(error, key, said.get(key))
    return error


def _keys(kind: type[DoorwardError]) -> tuple[str, ...]:
    return next((keys for base, keys in _MORE.items() if issubclass(kind, base)), ())


def _all(kind: type[DoorwardError]) -> Iterator[type[DoorwardError]]:
    """An error and those that are built on it, without those of plugins."""
    if kind.__module__ in _OURS:
        yield kind
    for each in kind.__subclasses__():
        yield from _all(each)
