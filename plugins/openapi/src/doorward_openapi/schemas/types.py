"""The `type` of a schema, in whatever way a document writes it, and schemas that also allow null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}
_ALIASES = {
    **dict.fromkeys(("int", "int32", "int64", "long", "short"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(
        ("date", "datetime", "date-time", "uuid", "email", "password", "uri", "url", "enum", "file", "text", "byte"),
        "string",
    ),
    "bool": "boolean",
    "list": "array",
}


def type_of(node: Mapping[str, Any], *, typed: bool) -> Any:
    """The type by its proper name, inferred from other keywords if it is missing; `None` if unknown."""
    given = node.get("type")
    if isinstance(given, str):
        if given in _TYPES:
            return given
        given = _ALIASES.get(given, given)
        return given if given in _TYPES else None
    if isinstance(given, list):
        known = [_ALIASES.get(k, k) for k in given if isinstance(k, str)]
        known = [k for k in dict.fromkeys(known) if k in _TYPES]
        return known[0] if len(known) == 1 else known or None
    if typed and not any(key in node for key in ("allOf", "anyOf", "oneOf", "enum", "const")):
        if isinstance(node.get("properties"), dict):
            return "object"
        if isinstance(node.get("items"), dict):
            return "array"
    return None


def is_open(node: Mapping[str, Any]) -> bool:
    """Whether an enumeration lists only the values known so far, and others may come, as Azure and Zalando mark it."""
    about = node.get("x-ms-enum")
    return "enum" not in node or (isinstance(about, dict) and about.get("modelAsString") is True)


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, with null allowed."""
    if "enum" in schema and None not in schema["enum"]:
        schema = {**schema, "enum": [*schema["enum"], None]}
    kind = schema.get("type")
    if kind and "allOf" not in schema:
        kinds = [kind] if isinstance(kind, str) else kind
        schema = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
        return schema if "anyOf" not in schema else {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if not any(key in schema for key in ("$ref", "allOf", "anyOf", "type")):
        return schema
    about: dict[str, Any] = {key: schema[key] for key in ("description", "default", "deprecated") if key in schema}
    return {"anyOf": [{k: v for k, v in schema.items() if k not in about}, {"type": "null"}], **about}
