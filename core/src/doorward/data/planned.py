"""Answers that are not known yet: those of calls that a plan withholds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PLANNED_KEY = "\0planned"
"""The only key of an object that stands for an unknown value in what a sandbox sends."""


PLANNED_TEXT = ", known once the plan is committed>"
"""The end of the `repr` of an unknown value in a sandbox."""


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


def in_text(value: Any) -> bool:
    """Whether a plain value holds a text that was made of an unknown one."""
    match value:
        case str():
            return PLANNED_TEXT in value
        case dict():
            return any(map(in_text, value.values())) or any(map(in_text, value))
        case list():
            return any(map(in_text, value))
    return False


def planned_in(value: Any) -> Iterator[Planned]:
    """All unknown values in a plain one."""
    todo = [value]
    while todo:
        match todo.pop():
            case dict() as found:
                if (unknown := planned(found)) is not None:
                    yield unknown
                else:
                    todo.extend(found.values())
            case list() as found:
                todo.extend(found)


def readable(value: Any) -> Any:
    """A plain value for a reader: an unknown one is told in words."""
    match value:
        case dict():
            if (unknown := planned(value)) is not None:
                return told(unknown)
            return {key: readable(part) for key, part in value.items()}
        case list():
            return [readable(part) for part in value]
    return value


def told(unknown: Planned) -> str:
    """An unknown value in words: `answer of 2: .id`."""
    which = f"answer of {unknown.call}" if unknown.call > 0 else f"answer of dependent read {-unknown.call}"
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in unknown.path)
    return f"{which}: {path}" if path else which


def resolved(value: Any, answers: Mapping[int, Any]) -> Any:
    """A plain value, with the parts of the answers that it did not know. Raises: LookupError if there is no such
    part."""
    match value:
        case dict():
            if (unknown := planned(value)) is not None:
                found: Any = answers[unknown.call]
                for key in unknown.path:
                    found = _part(found, key)
                return found
            return {key: resolved(part, answers) for key, part in value.items()}
        case list():
            return [resolved(part, answers) for part in value]
    return value


def _part(value: Any, key: str | int) -> Any:
    if isinstance(key, str) and isinstance(value, dict):
        return value[key]
    if isinstance(key, int) and isinstance(value, list):
        return value[key]
    raise KeyError(key)
