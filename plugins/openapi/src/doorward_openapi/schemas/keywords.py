"""The keyword arguments of a function: how each is sent, and names that are valid in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from doorward.values import is_plain, python_name

_PLACES = ("path", "query", "querystring", "header", "cookie", "body")
_ORDER = {place: number for number, place in enumerate(_PLACES)}


class Unusable(Exception):
    """Why an operation cannot become a function."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One argument: its name in the request, its location (`path`, `query`, `header`, `cookie`, `body` …), its JSON
    Schema, and in `wire` how it is written if that differs from the location's usual way. `known` is the value of a
    required argument that is not given; if it is None, the program has to give one."""

    name: str
    where: str
    schema: Mapping[str, Any]
    required: bool = False
    wire: Mapping[str, Any] = field(default_factory=dict)
    known: Any = None

    @property
    def needed(self) -> bool:
        """Whether a program has to give this argument."""
        return self.required and self.known is None


def named(keywords: Iterable[Keyword]) -> dict[str, Keyword]:
    """Keywords by argument name. If two would have the same name, the one of the later location
    gets its location as suffix."""
    arguments: dict[str, Keyword] = {}
    counts: dict[str, int] = {}
    for keyword in sorted(keywords, key=lambda keyword: _ORDER[keyword.where]):
        name = _argument(keyword.name)
        if name in arguments:
            name = base = f"{name.rstrip('_')}_{keyword.where}"
            while name in arguments:
                counts[base] = counts.get(base, 1) + 1
                name = f"{base}_{counts[base]}"
        arguments[name] = keyword
    return arguments


@lru_cache(10_000)  # documents repeat a few of them thousands of times
def _argument(name: str) -> str:
    return name if is_plain(name) else python_name(name[:200], fallback="value")


def schema(arguments: Mapping[str, Keyword]) -> dict[str, Any]:
    """The object schema of all arguments, required ones first."""
    ordered = sorted(arguments, key=lambda name: not arguments[name].needed)
    required = [name for name in ordered if arguments[name].needed]
    out: dict[str, Any] = {"type": "object", "properties": {n: _shown(arguments[n]) for n in ordered}}
    return (
        {**out, "required": required, "additionalProperties": False}
        if required
        else {**out, "additionalProperties": False}
    )


def _shown(keyword: Keyword) -> Mapping[str, Any]:
    return keyword.schema if keyword.known is None else {**keyword.schema, "default": keyword.known}
