"""The schema that the arguments of a call are checked against, and with them the examples that are shown of calls."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doorward.describe.schemas import BYTES_SCHEMAS, Definitions, kinds, listed, table
from doorward.model.functions import Schema

CHECK_FUEL = 3000
"""Parts of a schema that arguments are checked against."""

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
    """The validator of arguments: of as much of their schema as can be compiled."""
    schema = unfolded(parameters, definitions)
    names_only = {**schema, "properties": dict.fromkeys(table(parameters.get("properties")), True)}
    return _compiled(lambda: schema, lambda: _without_patterns(schema), lambda: names_only, lambda: True)


def value_validator(schema: Schema) -> Any:
    """The validator of what the keywords of a schema say of a value by themselves, without other schemas."""
    own = {key: schema[key] for key in _VALUE_KEYWORDS if key in schema and key != "required"}
    return _compiled(lambda: own, lambda: _without_patterns(own), lambda: True)


def _compiled(*candidates: Callable[[], Any]) -> Any:
    import jsonschema_rs

    for candidate in candidates:
        with contextlib.suppress(ValueError, RecursionError):  # a schema of the document may be invalid
            return jsonschema_rs.Draft202012Validator(candidate(), validate_formats=False)
    raise AssertionError  # `true` is a valid schema


def _without_patterns(schema: Any) -> Any:
    """The schema without regular expressions: dialects differ, and one that does not compile must not disable the
    other checks."""
    if isinstance(schema, Mapping):
        return {k: _without_patterns(v) for k, v in schema.items() if not (k == "pattern" and isinstance(v, str))}
    return [_without_patterns(v) for v in schema] if isinstance(schema, list) else schema


def unfolded(schema: Any, definitions: Definitions) -> Any:
    """The schema without references, breadth first, and with `anyOf` for `oneOf`; where `CHECK_FUEL` ends, anything
    goes. A field that only the server gives is not required, wherever that is said of it: no card shows it.

    Checking a value against alternatives that refer to one another takes time exponential in their depth: a document
    could stall the host that way. The API itself checks what is left out here.
    """
    root: dict[str, Any] = {}
    first = _Place()
    todo, places = deque([(schema, root, first)]), [first]
    fuel = CHECK_FUEL
    while todo:
        node, out, place = todo.popleft()
        fuel -= 1
        if node is False:
            out["not"] = {}
        if fuel < 0 or not isinstance(node, Mapping):
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
            if key in _VALUE_KEYWORDS or value is False:
                out[key] = value
                if key == "required":
                    place.requiring.append(out)
            elif key == "$ref" and isinstance(value, str):
                target: dict[str, Any] = {}
                out.setdefault("allOf", []).append(target)
                name = value.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
                todo.append((definitions(name), target, place))
            elif key in _SUBSCHEMA_KEYWORDS and isinstance(value, _SUBSCHEMA_KEYWORDS[key]):
                if isinstance(value, list):
                    parts: list[dict[str, Any]] = [{} for _ in value]
                    out[key] = [*out.get(key, []), *parts]
                    within = [_Place() if key == "prefixItems" else place for _ in value]
                    todo.extend(zip(value, parts, within, strict=True))
                elif _SUBSCHEMA_KEYWORDS[key] is dict:
                    out[key] = {name: {} for name in value}
                    within = [_Place() for _ in value]
                    todo.extend(zip(value.values(), out[key].values(), within, strict=True))
                    if key == "properties":
                        place.received |= {n for n, part in value.items() if table(part).get("readOnly") is True}
                else:
                    out[key], within = {}, [_Place()]
                    todo.append((value, out[key], within[0]))
                places += within
    for place in places:
        for out in place.requiring if place.received else ():
            out["required"] = [name for name in listed(out["required"], 1000) if name not in place.received]
    return root
