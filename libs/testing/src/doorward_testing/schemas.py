"""Schemas for tests."""

from __future__ import annotations

from typing import Any


def closed(schema: Any) -> Any:
    """The schema without additional properties, in every object that names its properties."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part) for key, part in schema.items()}
    return (
        {**inner, "additionalProperties": False}
        if isinstance(schema.get("properties"), dict) and "type" in schema
        else inner
    )
