"""The schema that the arguments of a call are checked against, and with them the examples that are shown of calls."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from doorward.catalog.schemas import BYTES_SCHEMAS, Definitions, kinds, listed, table
from doorward.model.functions import Schema

CHECK_FUEL = 3000
"""Parts of a schema that arguments are checked against."""

MAX_LEVELS = 60
"""Levels of a schema that arguments are checked against: the checker reads no schema that is nested more deeply."""

_SUBSCHEMA_KEYWORDS = {
    **dict.fromkeys(("properties", "patternProperties"), dict),
    **dict.fromkeys(("items", "additionalProperties"), Mapping),
    **dict.fromkeys(("prefixItems", "allOf", "anyOf"), list),
}
_VALUE_KEYWORDS = {
    *("type", "enum", "const", "required", "pattern", "uniqueItems", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
}


@dataclass(slots=True)
class _Place:
    """What the schemas of one value say of it together: the fields that only the server gives, and the schemas that
    require fields."""

    received: set[str] = field(default_factory=set)
    requiring: list[dict[str, Any]] = field(default_factory=list)


def validator(parameters: Schema, definitions: Definitions) -> Any:
    """The validator of arguments, without patterns that cannot be compiled; `None` if their schema cannot be."""
    return _compiled(unfolded(parameters, definitions))


def value_validator(schema: Schema) -> Any:
    """The validator of what the keywords of a schema say of a value by themselves, without other schemas."""
    own = {key: schema[key] for key in _VALUE_KEYWORDS if key in schema and key != "required"}
    return _compiled(own) or _compiled({})


def _compiled(schema: Any) -> Any:
    import jsonschema_rs

    for clean in (False, True):
        with contextlib.suppress(ValueError, RecursionError):  # a pattern may be of another dialect
            checked = _without_patterns(schema) if clean else schema
            return jsonschema_rs.Draft202012Validator(checked, validate_formats=False)
    return None


def _without_patterns(schema: Any) -> Any:
    """The schema without regular expressions: dialects differ, and one that does not compile must not disable the
    other checks."""
    if isinstance(schema, Mapping):
        return {k: _without_patterns(v) for k, v in schema.items() if not (k == "pattern" and isinstance(v, str))}
    return [_without_patterns(v) for v in schema] if isinstance(schema, list) else schema


def unfolded(schema: Any, definitions: Definitions) -> Any:
    """The schema without references, breadth first, and with `anyOf` for `oneOf`; where `CHECK_FUEL` ends, and below
    `MAX_LEVELS`, anything goes. Nothing fits a reference to what is not there. A field that only the server gives
    is not required, wherever that is said of it: no card shows it.

    Checking a value against alternatives that refer to one another takes time exponential in their depth: a document
    could stall the host that way. The API itself checks what is left out here.
    """
    root: dict[str, Any] = {}
    first = _Place()
    todo, places = deque([(schema, root, first, 0)]), [first]
    fuel = CHECK_FUEL
    while todo:
        node, out, place, level = todo.popleft()
        fuel -= 1
        level += 1
        if node is False or node is None:
            out["not"] = {}
        if fuel < 0 or level > MAX_LEVELS or not isinstance(node, Mapping):
            continue
        if node.get("format") in ("binary", "byte") and kinds(node) in (
            ["string"],
            ["string", "null"],
            ["null", "string"],
        ):
            out["anyOf"] = [*BYTES_SCHEMAS[node["format"]], *({"type": k} for k in kinds(node) if k == "null")]
            continue
        for key, value in node.items():
            key = "anyOf" if key == "oneOf" and "anyOf" not in node else key
            if key in _VALUE_KEYWORDS or (value is False and _SUBSCHEMA_KEYWORDS.get(key, Mapping) is Mapping):
                out[key] = value
                if key == "required":
                    place.requiring.append(out)
            elif key == "$ref" and isinstance(value, str):
                target: dict[str, Any] = {}
                out.setdefault("allOf", []).append(target)
                name = value.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
                todo.append((definitions(name), target, place, level))
            elif key in _SUBSCHEMA_KEYWORDS and isinstance(value, _SUBSCHEMA_KEYWORDS[key]):
                if isinstance(value, list):
                    parts: list[dict[str, Any]] = [{} for _ in value]
                    out[key] = [*out.get(key, []), *parts]
                    within = [_Place() if key == "prefixItems" else place for _ in value]
                    todo.extend(zip(value, parts, within, repeat(level)))
                elif _SUBSCHEMA_KEYWORDS[key] is dict:
                    out[key] = {name: {} for name in value}
                    within = [_Place() for _ in value]
                    todo.extend(zip(value.values(), out[key].values(), within, repeat(level)))
                    if key == "properties":
                        place.received |= {n for n, part in value.items() if table(part).get("readOnly") is True}
                else:
                    out[key], within = {}, [_Place()]
                    todo.append((value, out[key], within[0], level))
                places += within
    for place in places:
        for out in place.requiring if place.received else ():
            out["required"] = [name for name in listed(out["required"], 1000) if name not in place.received]
    return root
