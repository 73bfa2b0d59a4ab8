"""Answers that are not known yet: those of calls that a plan withholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

PLANNED_KEY = "\0planned"
"""The only key of an object that stands for an unknown value in what a sandbox sends."""


def _nothing(path: Sequence[str | int]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Planned:
    """The answer to a withheld call, or the part of it to which the keys of `path` lead. `call` is the number of the
    call in its plan. `lacks` says why the answer has no such part, by all that is known of it; "" if it may have
    one: a program that reads it is to be ended there."""

    call: int
    path: tuple[str | int, ...] = ()
    lacks: Callable[[Sequence[str | int]], str] = field(default=_nothing, compare=False, repr=False)


def planned(value: Any) -> Planned | None:
    """The unknown value for which a plain one stands, if it does."""
    if type(value) is not dict or len(value) != 1:
        return None
    match value.get(PLANNED_KEY):
        case [int(call), *path] if all(isinstance(key, (str, int)) for key in path):
            return Planned(call, tuple(path))
    return None
