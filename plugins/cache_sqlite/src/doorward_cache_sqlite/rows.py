"""A kept program as a row holds it."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache

from doorward import CachedProgram
from pydantic import TypeAdapter

_FIELDS = [f.name for f in fields(CachedProgram) if f.name not in ("cache_id", "principal", "digest")]


def text_of(program: CachedProgram) -> str:
    """What no column holds, as JSON in ASCII, which any text survives."""
    return json.dumps({name: getattr(program, name) for name in _FIELDS}, default=dict)


def program_of(principal: str, cache_id: str, digest: str, text: str) -> CachedProgram | None:
    """The program of a row; `None` if the row was written by somebody else than us."""
    try:
        data = {**json.loads(text), "principal": principal, "cache_id": cache_id, "digest": digest}
        return _shape().validate_python(data)
    except (ValueError, TypeError, RecursionError):
        return None


@cache
def _shape() -> TypeAdapter[CachedProgram]:
    return TypeAdapter(CachedProgram)
