"""JSON Schemas of tools (2020-12 and draft-07) → schemas whose references are `#/$defs/NAME`.

A schema is never made stricter. It is loosened where that costs nothing: `oneOf` becomes `anyOf`; conditions are left
out, and so is `additionalProperties: false` below the arguments. The upstream checks its arguments itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeGuard

from doorward_mcp_upstream.tools.documents import MAX_COMPARED_CHARACTERS, Document, Pointer, UnresolvedReference
from doorward_mcp_upstream.tools.text import line

MAX_DEPTH = 48
"""Levels of one schema, from reference to reference. Below that, any value is allowed."""

MAX_DEFINITIONS = 5000
"""Definitions of one server."""

MAX_PROPERTIES = 1000

_MAX_PARTS = 20_000
"""Parts of one schema that are looked at."""
_MAX_PARTS_OF_SERVER = 1_000_000
"""Parts of all schemas of a server that are looked at."""
_MAX_COMPARED_CHARACTERS_OF_SERVER = 50_000_000
"""Characters of all schemas of a server that are read to compare definitions."""

_TYPES = {"string", "integer", "number", "boolean", "object", "array", "null"}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
_MAX_WARNINGS = 20


class Schemas:
    """Converts the schemas of one server, and collects the definitions that they refer to.
    Equal definitions are shared."""

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self.warnings: dict[str, None] = {}
        self._names: dict[str | tuple[Document, Pointer], str] = {}
        self._counts: dict[str, int] = {}
        self._left = _MAX_PARTS_OF_SERVER
        self._unread = _MAX_COMPARED_CHARACTERS_OF_SERVER

    def convert(self, schema: Any, title: str) -> dict[str, Any]:
        """The converted schema. `title` names its definition, should anything refer to the whole schema."""
        document = Document(schema, min(_MAX_PARTS, self._left), unread := min(MAX_COMPARED_CHARACTERS, self._unread))
        before = document.fuel
        work = _Work(self, document, title)
        converted = work.convert(schema, 0)
        work.finish()
        self._left -= before - max(document.fuel, 0)
        self._unread -= unread - document.unread
        if document.fuel < 0:
            self.warn(f"{title}: the schema is too large; of some of it nothing is known")
        return converted

    def meant(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema behind a converted schema that is only a reference; any other is itself."""
        for _ in range(8):
            if list(schema) != ["$ref"]:
                break
            schema = self.definitions[schema["$ref"].removeprefix("#/$defs/")]
        return schema

    def warn(self, text: str) -> None:
        if len(self.warnings) < _MAX_WARNINGS:
            self.warnings[text] = None

    def name(self, document: Document, pointer: Pointer, title: str) -> tuple[str, bool]:
        """The name of a definition, and whether it is new."""
        key = document.key(pointer) or (document, pointer)
        if key in self._names:
            return self._names[key], False
        if len(self.definitions) >= MAX_DEFINITIONS:
            raise UnresolvedReference(f"the tools have more than {MAX_DEFINITIONS} definitions")
        last = pointer[-1] if pointer else title
        name = base = re.sub(r"[^A-Za-z0-9_.-]+", "_", last[:200])[:100].strip("_.") or "schema"
        while name in self.definitions:
            self._counts[base] = self._counts.get(base, 1) + 1
            name = f"{base}_{self._counts[base]}"
        self._names[key] = name
        self.definitions[name] = {}  # taken; `finish` fills it
        return name, True


class _Work:
    """The conversion of one schema."""

    def __init__(self, schemas: Schemas, document: Document, title: str) -> None:
        self._schemas = schemas
        self._document = document
        self._title = title
        self._queue: list[tuple[str, Any]] = []

    def finish(self) -> None:
        """Convert everything that was referred to."""
        while self._queue:
            name, node = self._queue.pop()
            self._schemas.definitions[name] = self.convert(node, 0)

    def convert(self, node: Any, depth: int) -> dict[str, Any]:
        if node is False:
            return {"not": {}}
        if not isinstance(node, Mapping) or depth > MAX_DEPTH or not self._document.burn():
            return {}
        ref = node.get("$ref", node.get("$dynamicRef"))
        out = self._reference(ref) if isinstance(ref, str) else {}
        _values(node, out)
        _parts(node, out, lambda part: self.convert(part, depth + 1))
        return {"anyOf": [out, {"type": "null"}]} if node.get("nullable") is True and out.get("type") != "null" else out

    def _reference(self, ref: str) -> dict[str, Any]:
        try:
            pointer, node = self._document.find(ref)
            name, new = self._schemas.name(self._document, pointer, self._title)
        except UnresolvedReference as error:
            self._schemas.warn(f"{self._title}: {error}")
            return {}
        if new:
            self._queue.append((name, node))
        return {"$ref": f"#/$defs/{name}"}


def _values(node: Mapping[str, Any], out: dict[str, Any]) -> None:
    """Convert the keywords that hold no other schema."""
    given = node.get("type")
    kinds = [
        k for k in dict.fromkeys(str(g) for g in (given if isinstance(given, list) else [given])[:10]) if k in _TYPES
    ]
    if kinds:
        out["type"] = kinds[0] if len(kinds) == 1 else kinds
    if node.get("contentEncoding") == "base64":
        out["format"] = "byte"
    elif isinstance(form := node.get("format"), str) and len(form) <= 50:
        out["format"] = form
    if text := line(node.get("description"), 1000):
        out["description"] = text
    if isinstance(values := node.get("enum"), list) and 0 < len(values) <= 1000 and all(map(_small, values)):
        out["enum"] = values
    for key in ("const", "default"):
        if key in node and _small(node[key]):
            out[key] = node[key]
    if (
        isinstance(examples := node.get("examples"), list)
        and examples
        and _small(examples[0])
        and len(str(examples[0])) <= 60
    ):
        out["examples"] = examples[:1]
    for key in ("deprecated", "uniqueItems"):
        if node.get(key) is True:
            out[key] = True
    for key in _COUNTS:
        if _number(count := node.get(key)) and isinstance(count, int) and 0 <= count < 2**31:
            out[key] = count
    for key in _BOUNDS:
        if _number(bound := node.get(key)) and (key != "multipleOf" or bound > 0):
            out[key] = bound
    if isinstance(pattern := node.get("pattern"), str) and len(pattern) <= 200:
        out["pattern"] = pattern


def _parts(node: Mapping[str, Any], out: dict[str, Any], convert: Callable[[Any], dict[str, Any]]) -> None:
    """Convert the keywords that hold other schemas."""
    properties = node.get("properties")
    if isinstance(properties, Mapping) and properties:
        out["properties"] = {name: convert(part) for name, part in islice(properties.items(), MAX_PROPERTIES)}
    required = node.get("required")
    if isinstance(required, list) and (names := [n for n in required[:MAX_PROPERTIES] if isinstance(n, str)]):
        out["required"] = list(dict.fromkeys(names))
    items = node.get("items")
    if isinstance(items, Mapping):
        out["items"] = convert(items)
    if isinstance(several := items if isinstance(items, list) else node.get("prefixItems"), list) and several:
        out["prefixItems"] = [convert(part) for part in several[:100]]
    patterns = node.get("patternProperties")
    extra = node.get("additionalProperties")
    if (
        isinstance(patterns, Mapping) and patterns
    ):  # one pattern, and nothing else allowed: then all others are of its kind
        extra = next(iter(patterns.values())) if len(patterns) == 1 and extra is False else None
    if isinstance(extra, Mapping):
        out["additionalProperties"] = convert(extra)
    for key in ("allOf", "anyOf", "oneOf"):
        if isinstance(parts := node.get(key), list) and parts:
            converted = [convert(part) for part in parts[:200]]
            name = "anyOf" if key == "oneOf" else key
            if name in out:
                out["allOf"] = [*out.get("allOf", ()), {name: converted}]
            else:
                out[name] = converted


def _number(value: Any) -> TypeGuard[int | float]:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63 and math.isfinite(value)
    )


def _small(value: Any, depth: int = 0) -> bool:
    """Whether a value is plain JSON and small enough to be repeated in every listing."""
    match value:
        case str():
            return len(value) <= 500
        case None | bool():
            return True
        case int() | float():
            return _number(value)
        case list():
            return depth < 4 and len(value) <= 50 and all(_small(v, depth + 1) for v in value)
        case dict():
            return depth < 4 and len(value) <= 50 and all(_small(v, depth + 1) for v in value.values())
    return False
