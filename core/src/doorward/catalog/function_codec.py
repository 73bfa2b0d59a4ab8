"""Functions, schemas and reports as they are stored: JSON texts, without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from doorward.data.json_writing import dump
from doorward.data.values import MAX_DEPTH, plain
from doorward.model.functions import Function


@dataclass(frozen=True, slots=True)
class Report:
    """The report on a server's compile, as the catalog stores it."""

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


_STORED = [f for f in Function.__dataclass_fields__ if f not in ("server", "name")]


def restored(server: str, name: str, record: str) -> Function:
    """The function that a record was made from."""
    fields = from_json(record)
    tuples = {key: tuple(fields.get(key, ())) for key in ("tags", "headers", "aliases")}
    return Function(server=server, name=name, **{**fields, **tuples})


def scrubbed(function: Function, scrub: Callable[[str], str]) -> tuple[Function, str]:
    """A function and its record, both without secrets: the search index must not have them either."""
    record = as_json({f: getattr(function, f) for f in _STORED})
    clean, name = scrub(record), plain(scrub(function.name))
    if clean != record or name != function.name or not record.isascii():
        function = restored(function.server, name, clean)
    return function, clean


def as_json(value: Any) -> str:
    """A value as compact JSON that can be read back. Plain values, which nearly all are, are not walked in Python."""
    try:
        text = dump(value)
        if text.count(b"{") + text.count(b"[") < MAX_DEPTH or from_json(text) is not None:
            return text.decode()
    except ValueError:  # half a surrogate pair, an unknown type, NaN, or nested too deeply to be read back
        pass
    return dump(plain(value)).decode()
