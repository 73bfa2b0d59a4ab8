"""Values in which answers stand that are not known yet: whether they were made text of, for a reader, and filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doorward.recording import planned
from doorward.sandboxing import Planned

from doorward_durable_runs.marked_places import PLANNED_TEXT, told


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


def has_unknown(value: Any) -> bool:
    """Whether a plain value holds any."""
    return any(True for _ in planned_in(value))
