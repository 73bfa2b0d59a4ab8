"""Google Discovery documents (`discovery#restDescription`) in the words of OpenAPI 3.0.

A method becomes an operation, with its id less the API's name; `{+name}`, which takes several segments of a path,
becomes the segments of the method's `flatPath`. Credentials and forms of answers, which every method may be given by
its query, are left out, but for `fields`, which cuts an answer down. Uploads are left out: their requests have two
parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

KIND = "discovery#restDescription"
_LIMITS = {"minimum": "minimum", "maximum": "maximum"}
_KEPT = ("description", "default", "enum", "pattern", "format", "deprecated", "readOnly")
_SEGMENT = re.compile(r"\{([^{}+]+)\}")


def is_discovery(root: Any) -> bool:
    """Whether this is a Discovery document."""
    return isinstance(root, Mapping) and root.get("kind") == KIND


def converted(root: Mapping[str, Any]) -> dict[str, Any]:
    """The document in the words of OpenAPI."""
    name = _text(root.get("name"))
    paths: dict[str, dict[str, Any]] = {}
    for tag, method in _methods(root, ""):
        path, given = _path(method)
        http = _text(method.get("httpMethod")).lower()
        if path and http and http not in paths.setdefault(f"/{path}", {}):
            paths[f"/{path}"][http] = _operation(root, name, tag, method, given)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": _text(root.get("title")) or name,
            "version": _text(root.get("version")),
            "description": _text(root.get("description")),
        },
        "servers": [{"url": _text(root.get("rootUrl")).rstrip("/") + "/" + _text(root.get("servicePath")).strip("/")}],
        "paths": paths,
        "components": {
            "schemas": {key: _schema(value) for key, value in _table(root.get("schemas")).items()},
            "securitySchemes": {"oauth": {"type": "http", "scheme": "bearer"}},
        },
    }


def _methods(part: Mapping[str, Any], tag: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The methods of the API and of its resources, with the resource of each."""
    todo = [(tag, part)]
    while todo:
        tag, part = todo.pop()
        yield from ((tag, each) for each in _table(part.get("methods")).values() if isinstance(each, Mapping))
        below = _table(part.get("resources"))
        todo += [(f"{tag}.{name}".strip("."), each) for name, each in below.items() if isinstance(each, Mapping)][::-1]


def _path(method: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path of a method, and the parameters that its flat form has in place of others."""
    path, flat = _text(method.get("path")), _text(method.get("flatPath"))
    if "{+" not in path:
        return path, {}
    if not flat or "{+" in flat:
        return "", {}
    whole = ", ".join(re.findall(r"\{\+([^{}]+)\}", path))
    about = f"a segment of {whole}"
    known = _table(method.get("parameters"))
    return flat, {
        name: {"type": "string", "description": about} for name in _SEGMENT.findall(flat) if name not in known
    }


def _operation(
    root: Mapping[str, Any], name: str, tag: str, method: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    path, _ = _path(method)
    there = {*_SEGMENT.findall(path)}
    parameters = [_parameter(key, {**each, "location": "path"}) for key, each in given.items()]
    for key, each in _table(method.get("parameters")).items():
        if isinstance(each, Mapping) and (each.get("location") != "path" or key in there):
            parameters.append(_parameter(key, each))
    if isinstance(fields := _table(root.get("parameters")).get("fields"), Mapping):
        parameters.append(_parameter("fields", fields))
    if method.get("supportsMediaDownload") is True:
        about = "media: the content itself, in place of what is known of it"
        alt = {"type": "string", "enum": ["json", "media"], "location": "query", "description": about}
        parameters.append(_parameter("alt", alt))
    answer: dict[str, Any] = {"description": ""}
    if isinstance(method.get("response"), Mapping):
        answer["content"] = {"application/json": {"schema": _schema(method["response"])}}
    operation = {
        "operationId": _text(method.get("id")).removeprefix(f"{name}."),
        "description": _text(method.get("description")),
        "tags": [tag] if tag else [],
        "parameters": parameters,
        "responses": {"200": answer},
    }
    if isinstance(method.get("request"), Mapping):
        operation["requestBody"] = {"content": {"application/json": {"schema": _schema(method["request"])}}}
    if method.get("scopes"):
        operation["security"] = [{"oauth": []}]
    return operation | ({"deprecated": True} if method.get("deprecated") is True else {})


def _parameter(name: str, each: Mapping[str, Any]) -> dict[str, Any]:
    schema = _schema(each)
    about = schema.pop("description", "")
    if each.get("repeated") is True:
        schema = {"type": "array", "items": schema}
    place = "path" if each.get("location") == "path" else "query"
    required = place == "path" or each.get("required") is True
    return {"name": name, "in": place, "required": required, "description": about, "schema": schema}


def _schema(given: Any) -> dict[str, Any]:
    """A schema. References are names in Discovery, limits are texts, and `any` is a type."""
    if not isinstance(given, Mapping):
        return {}
    if isinstance(ref := given.get("$ref"), str):
        return {"$ref": f"#/components/schemas/{ref.replace('~', '~0').replace('/', '~1')}"}
    made: dict[str, Any] = {key: given[key] for key in _KEPT if key in given}
    if (kind := given.get("type")) and kind != "any":
        made["type"] = kind
    for key in _LIMITS:
        if (limit := _number(given.get(key))) is not None and kind in ("integer", "number"):
            made[key] = limit
    if kind in ("integer", "number", "boolean") and isinstance(default := made.get("default"), str):
        value = {"true": True, "false": False}.get(default) if kind == "boolean" else _number(default)
        made.pop("default")
        made |= {"default": value} if value is not None else {}
    if "items" in given:
        made["items"] = _schema(given["items"])
    if isinstance(given.get("properties"), Mapping):
        made["properties"] = {key: _schema(each) for key, each in given["properties"].items()}
    if isinstance(given.get("additionalProperties"), Mapping):
        made["additionalProperties"] = _schema(given["additionalProperties"])
    return made


def _number(text: Any) -> int | float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return (int(value) if value.is_integer() else value) if value - value == 0 else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
