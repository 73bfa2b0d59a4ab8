"""Functions, schemas and reports as they are stored: JSON texts, without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from pydantic_core import from_json

from doorward.data.json_writing import in_one_piece
from doorward.data.values import plain
from doorward.model.functions import Function


@dataclass(frozen=True, slots=True)
class Report:
    """The report on a server's compile, as the catalog stores it. `left_out` are the names of functions that keys of
    the configuration leave out, by key."""

    server: str
    functions: int
    skipped: Sequence[Mapping[str, str]] = ()
    warnings: Sequence[str] = ()
    ms: float = 0.0
    description: str = ""
    fingerprint: str = ""
    settings: str = ""
    compiled: float = 0.0
    closed: int = 0
    auth: Sequence[Mapping[str, Any]] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)


_STORED = [f for f in Function.__dataclass_fields__ if f not in ("server", "name")]
_stored_of = attrgetter(*_STORED)

_ROOM = 60
"""Levels of nesting that the writer of JSON can do more than the reader, and a few."""


def restored(server: str, name: str, record: str) -> Function:
    """The function that a record was made from."""
    fields = from_json(record)
    tuples = {key: tuple(fields.get(key, ())) for key in ("tags", "headers", "aliases")}
    return Function(server=server, name=name, **{**fields, **tuples})


def scrubbed(function: Function, scrub: Callable[[str], str]) -> tuple[Function, str]:
    """A function and its record, both without secrets: the search index must not have them either."""
    record, as_it_is = _written(dict(zip(_STORED, _stored_of(function), strict=True)))
    clean, name = scrub(record), plain(scrub(function.name))
    if clean != record or name != function.name or not as_it_is:
        function = restored(function.server, name, clean)
    return function, clean


def as_json(value: Any) -> str:
    """A value as compact JSON that can be read back. Plain values, which nearly all are, are not walked in Python."""
    return _written(value)[0]


def _written(value: Any) -> tuple[str, bool]:
    """A value as JSON, and whether it is plain: else it was made so."""
    nested = value
    for _ in range(_ROOM):  # what is nested too deeply to be read back is then too deep to be written, too
        nested = [nested]
    try:
        return in_one_piece(nested)[_ROOM:-_ROOM].decode(), True
    except ValueError:  # half a surrogate pair, an unknown type, or nested too deeply
        return in_one_piece(plain(value)).decode(), False
