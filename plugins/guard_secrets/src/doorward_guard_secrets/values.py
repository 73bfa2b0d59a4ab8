"""The texts within values: read, and replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from doorward import File

MAX_FILE_BYTES = 2**20
"""How much of a file is read in a call's arguments."""

_NUMBER_DIGITS = 12
"""Whole numbers with more digits are looked at like texts: a card may be written as one."""


def texts(value: Any) -> Iterator[str]:
    """All texts within a value: strings, names of fields, files that are text, and long numbers."""
    todo = [value]
    while todo:
        match todo.pop():
            case str() as text:
                yield text
            case int() as number if number >= 10**_NUMBER_DIGITS and number < 10**20:
                yield str(number)
            case bytes() | bytearray() as content:
                yield from _decoded(bytes(content[:MAX_FILE_BYTES]))
            case File(content=content, name=name):
                todo += [name, content]
            case Mapping() as table:
                todo += [*table.keys(), *table.values()]
            case list() | tuple() | set() | frozenset() as parts:
                todo += parts


def redacted(value: Any, clean: Callable[[str], str]) -> Any:
    """A value with each text as `clean` makes it; the very same value if nothing changes."""
    match value:
        case str():
            return _same_or(value, clean(value))
        case bool():
            return value
        case int() if 10**_NUMBER_DIGITS <= value < 10**20:
            text = str(value)
            return value if (new := clean(text)) == text else new
        case bytes() | bytearray():
            try:
                text = bytes(value).decode()
            except UnicodeDecodeError:
                return value
            return value if (new := clean(text)) == text else new.encode()
        case File():
            content, name = redacted(value.content, clean), clean(value.name)
            unchanged = content is value.content and name == value.name
            return value if unchanged else replace(value, content=content, name=name)
        case Mapping():
            table = {redacted(key, clean): redacted(part, clean) for key, part in value.items()}
            return value if all(map(_is, table.items(), value.items())) and len(table) == len(value) else table
        case list() | tuple():
            parts = [redacted(part, clean) for part in value]
            return value if all(new is old for new, old in zip(parts, value, strict=True)) else type(value)(parts)
    return value


def _same_or(old: str, new: str) -> str:
    return old if new == old else new


def _is(new: tuple[Any, Any], old: tuple[Any, Any]) -> bool:
    return new[0] is old[0] and new[1] is old[1]


def _decoded(content: bytes) -> Iterator[str]:
    if b"\0" not in content:
        yield content.decode("utf-8", "replace")
