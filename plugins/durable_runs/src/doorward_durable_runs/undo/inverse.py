"""The call that undoes another one: made of what that was given and answered, and of what was there before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from doorward_durable_runs.undo.settings import InverseSettings


class KeepsInverses(Protocol):
    """Where a run keeps by which calls its own are undone. See `journal/events.py`."""

    def before(self, place: int) -> tuple[Any] | None: ...

    async def read_before(self, place: int, value: Any) -> None: ...

    def undone_by(self, place: int, said: Mapping[str, Any]) -> None: ...


class _Missing(Exception):
    """A path leads to nothing. Its text says where it ends."""


def inverse_of(inverse: InverseSettings, server: str, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """What undoes a call, as a journal keeps it: `{"call", "arguments"}`, or `{"why"}` it cannot be undone. `known` are
    the values of `args`, `answer` and, where it was read, `before`."""
    arguments = {}
    for name in inverse.arguments:
        path = inverse.path(name)
        try:
            arguments[name] = inverse.text(name) if path is None else _at(known, path)
        except _Missing as missing:
            if not inverse.may_lack(name):
                return {"why": f"{inverse.call} needs {name!r}, and {missing}"}
    return {"call": f"{server}.{inverse.call}", "arguments": arguments}


def _at(value: Any, path: list[str]) -> Any:
    for at, key in enumerate(path):
        match value:
            case Mapping() if key in value:
                value = value[key]
            case list() if key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            case _:
                raise _Missing(f"there is no {'.'.join(path[: at + 1])}")
    return value
