"""Deliveries of webhooks: what they give to a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward import InvalidArguments


def validator(schema: Mapping[str, Any]) -> Any:
    """What holds bodies against a schema. Raises: ValueError if it is none that stands by itself."""
    import jsonschema_rs

    try:
        return jsonschema_rs.Draft202012Validator(
            dict(schema), retriever=_nothing, pattern_options=jsonschema_rs.RegexOptions()
        )  # patterns take time in proportion to the text
    except (ValueError, RecursionError, jsonschema_rs.ValidationError) as error:
        raise ValueError(f"it is no JSON Schema: {str(error).partition(chr(10))[0][:200]}") from None


def params_of(body: bytes, fits: Any, pointers: Mapping[str, str]) -> dict[str, Any]:
    """What a body gives to the parameters of a program. Raises: ValueError for what is no JSON object, InvalidArguments
    for one that does not fit."""
    import jsonschema_rs
    from doorward_json import read_json

    found = read_json(body.decode())
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    try:
        fits.validate(found)
    except jsonschema_rs.ValidationError as error:
        where = "/".join(map(str, error.instance_path))
        raise InvalidArguments(f"{f'at {where}: ' if where else ''}{error.message}"[:300]) from None
    if not pointers:
        return found
    values = {name: _at(found, pointer) for name, pointer in pointers.items()}
    return {name: value for name, value in values.items() if value is not _ABSENT}


_ABSENT = object()


def _at(value: Any, pointer: str) -> Any:
    """What stands at a JSON pointer (RFC 6901)."""
    for part in pointer.removeprefix("/").split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(part)] if part.isdecimal() and int(part) < len(value) else _ABSENT
        else:
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _nothing(uri: str) -> Any:
    raise ValueError(f"it refers to {uri[:100]}, which is not within it")
