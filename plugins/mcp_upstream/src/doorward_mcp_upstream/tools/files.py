"""Bytes among the arguments of a call. JSON has none, so they become base64 text where the tool's
schema asks for it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from doorward import File, InvalidArguments

from doorward_mcp_upstream.tools.documents import Document, UnresolvedReference

_MAX_PARTS = 2000


def sent(arguments: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """The arguments as they go over the wire. `schema` is the input schema as the server gave it.

    Raises: InvalidArguments for bytes where the schema has no place for them.
    """
    if not any(map(_has_bytes, arguments.values())):
        return dict(arguments)
    document = Document(schema, _MAX_PARTS)
    return {name: _sent(value, _below([schema], document, name), document, name) for name, value in arguments.items()}


def _has_bytes(value: Any) -> bool:
    match value:
        case File() | bytes():
            return True
        case Mapping():
            return any(map(_has_bytes, value.values()))
        case list():
            return any(map(_has_bytes, value))
    return False


def _sent(value: Any, schemas: list[Any], document: Document, place: str) -> Any:
    match value:
        case File() | bytes():
            encoding = next((e for e in map(_encoding, schemas) if e), None)
            if encoding is None:
                hint = "Pass text: what the bytes say, or base64 if that is what the tool wants."
                raise InvalidArguments(
                    f"argument {place}: is bytes, and the tool does not say how it takes them", hint=hint
                )
            content = value.content if isinstance(value, File) else value
            return (base64.urlsafe_b64encode if encoding == "base64url" else base64.b64encode)(content).decode()
        case Mapping():
            return {k: _sent(v, _below(schemas, document, k), document, f"{place}.{k}"[:200]) for k, v in value.items()}
        case list():
            return [
                _sent(v, _below(schemas, document, i), document, f"{place}[{i}]"[:200]) for i, v in enumerate(value)
            ]
    return value


def _encoding(schema: Mapping[str, Any]) -> str | None:
    if (encoding := schema.get("contentEncoding")) in ("base64", "base64url"):
        return str(encoding)
    if schema.get("format") in ("byte", "binary", "base64", "base64url"):
        return "base64url" if schema["format"] == "base64url" else "base64"
    return None


def _below(schemas: list[Any], document: Document, key: str | int) -> list[Any]:
    """The schemas of the value under this key, or at this index."""
    found: list[Any] = []
    for schema in schemas:
        for one in _meant(schema, document):
            if isinstance(key, str):
                properties = one.get("properties")
                own = properties.get(key) if isinstance(properties, Mapping) else None
                found.append(one.get("additionalProperties") if own is None else own)
            else:
                items = one.get("items")
                several = items if isinstance(items, list) else one.get("prefixItems")
                found.append(several[key] if isinstance(several, list) and key < len(several) else items)
    return [meant for schema in found for meant in _meant(schema, document)]


def _meant(schema: Any, document: Document) -> Iterator[Mapping[str, Any]]:
    """A schema, and all schemas that it refers to or combines."""
    todo = [schema]
    while todo and document.burn():
        one = todo.pop()
        if not isinstance(one, Mapping):
            continue
        yield one
        if isinstance(ref := one.get("$ref"), str):
            try:
                todo.append(document.find(ref)[1])
            except UnresolvedReference:
                continue
        for key in ("allOf", "anyOf", "oneOf"):
            todo += part if isinstance(part := one.get(key), list) else []
