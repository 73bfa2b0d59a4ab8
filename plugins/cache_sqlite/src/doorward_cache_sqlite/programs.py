"""Cached programs as text."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache

from doorward.sandboxing import CachedProgram
from pydantic import TypeAdapter

_FIELDS = [field.name for field in fields(CachedProgram)]


def text_of(program: CachedProgram) -> bytes:
    """A program as ASCII JSON, which preserves any text."""
    return json.dumps({name: getattr(program, name) for name in _FIELDS}, default=dict).encode()


def program_of(text: bytes) -> CachedProgram | None:
    """The program of a text; `None` if we did not write that."""
    try:
        return _shape().validate_python(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return None


@cache
def _shape() -> TypeAdapter[CachedProgram]:
    return TypeAdapter(CachedProgram)
