"""Swagger 2.0 operations in the words of OpenAPI 3: parameters with a schema, a request body, contents.

Schemas are left as they are (`schemas.py` knows both); everything around them is rewritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward_openapi.wire import paths

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

_AROUND = ("name", "in", "description", "required", "schema", "collectionFormat", "allowEmptyValue")
_STYLES = {"multi": ("form", True), "ssv": ("spaceDelimited", False), "pipes": ("pipeDelimited", False)}


def upgraded(
    operation: Mapping[str, Any], parameters: Sequence[tuple[dict[str, Any], str]], root: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[dict[str, Any], str]]]:
    """A 2.0 operation and its resolved parameters (each with its file) → the operation in the form of 3.0, and the
    parameters that are not part of its body."""
    consumes = named_media(operation, root, "consumes")
    fields = [p for p, _ in parameters if p.get("in") == "formData"]
    bodies = [p for p, _ in parameters if p.get("in") == "body"]
    others = [(p, file) for p, file in parameters if p.get("in") not in ("formData", "body")]
    out = {k: v for k, v in operation.items() if k not in ("parameters", "requestBody", "servers")}
    if bodies:
        body = bodies[0]
        media = consumes or ["application/json"]
        out["requestBody"] = {
            "required": body.get("required") is True,
            "description": body.get("description"),
            "content": {m: {"schema": body.get("schema", {})} for m in media},
        }
    elif fields:
        out["requestBody"] = _form(fields, consumes)
    return out, others


def named_media(operation: Mapping[str, Any], root: Mapping[str, Any], key: str) -> list[str]:
    """The media types that an operation `consumes` or `produces`, as it says itself, or else the document."""
    listed = operation.get(key, root.get(key))
    return [m for m in listed if isinstance(m, str)] if isinstance(listed, list) else []


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in parameter.items() if k not in _AROUND}


def _style(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """The style for a `collectionFormat`; the default is csv, also in queries."""
    if parameter.get("type") != "array":
        return {}
    named = parameter.get("collectionFormat")
    if named == "tsv":
        return {"style": "tabDelimited", "explode": False}
    style, explode = _STYLES.get(named, (None, False)) if isinstance(named, str) else (None, False)
    return {"style": style, "explode": explode} if style else {"explode": False}


def upgraded_parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """A 2.0 parameter that is not part of a body, in the form of 3.0."""
    about = {
        k: parameter[k]
        for k in ("name", "in", "description", "required", "allowEmptyValue", paths.SLASHES)
        if k in parameter
    }
    return {**about, **_style(parameter), "schema": parameter.get("schema") or _schema(parameter)}


def _form(fields: Sequence[Mapping[str, Any]], consumes: Sequence[str]) -> dict[str, Any]:
    files = any(f.get("type") == "file" for f in fields)
    media = MULTIPART if files or (MULTIPART in consumes and FORM not in consumes) else FORM
    named = {f["name"]: f for f in fields if isinstance(f.get("name"), str)}
    schema = {
        "type": "object",
        "properties": {n: {**_schema(f), "description": f.get("description")} for n, f in named.items()},
        "required": [n for n, f in named.items() if f.get("required") is True],
    }
    encoding = {n: _style(f) for n, f in named.items()}
    return {"required": bool(schema["required"]), "content": {media: {"schema": schema, "encoding": encoding}}}
