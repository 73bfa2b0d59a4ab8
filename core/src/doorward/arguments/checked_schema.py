"""The schema that the arguments of a call are checked against."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from doorward.describe.schemas import BYTES_SCHEMAS, Definitions, kinds

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


def unfolded(schema: Any, definitions: Definitions) -> Any:
    """The schema without references, breadth first, and with `anyOf` for `oneOf`; where `CHECK_FUEL` ends, and below
    `MAX_LEVELS`, anything goes. Nothing fits a reference to what is not there.

    Checking a value against alternatives that refer to one another takes time exponential in their depth: a document
    could stall the host that way. The API itself checks what is left out here.
    """
    root: dict[str, Any] = {}
    todo = deque([(schema, root, 0)])
    fuel = CHECK_FUEL
    while todo:
        node, out, level = todo.popleft()
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
            if key in _VALUE_KEYWORDS or value is False:
                out[key] = value
            elif key == "$ref" and isinstance(value, str):
                target: dict[str, Any] = {}
                out.setdefault("allOf", []).append(target)
                name = value.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
                todo.append((definitions(name), target, level))
            elif key in _SUBSCHEMA_KEYWORDS and isinstance(value, _SUBSCHEMA_KEYWORDS[key]):
                if isinstance(value, list):
                    parts: list[dict[str, Any]] = [{} for _ in value]
                    out[key] = [*out.get(key, []), *parts]
                    todo.extend((part, into, level) for part, into in zip(value, parts, strict=True))
                elif _SUBSCHEMA_KEYWORDS[key] is dict:
                    out[key] = {name: {} for name in value}
                    todo.extend((value[name], out[key][name], level) for name in value)
                else:
                    out[key] = {}
                    todo.append((value, out[key], level))
    return root
