"""The names of headers that a configuration sends."""

from __future__ import annotations

from typing import TypeVar

V = TypeVar("V")


def named_headers(headers: dict[str, V]) -> dict[str, V]:
    """Headers of a configuration, whose names are checked. Raises: ValueError."""
    for name in headers:
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"{name!r} is no name of a header")
    return headers
