"""Arguments from a function's JSON Schema: always the same ones, and such that a validator takes them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Definition = Callable[[str], Schema | None]

DEEPEST = 12
"""Levels below which a value ends, whatever it lacks: some schemas require themselves."""

_TEXTS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:30:00Z",
    "time": "12:30:00Z",
    "duration": "P1D",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "cidr": "192.0.2.0/24",
    "uri": "https://example.com/a?b=c",
    "url": "https://example.com/a?b=c",
    "uri-reference": "/a?b=c",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "byte": "YWI=",
    "regex": "a+",
    "json-pointer": "/a",
}
_KINDS = {
    "object": ("properties", "additionalProperties", "minProperties", "required"),
    "array": ("items", "prefixItems", "minItems"),
    "string": ("pattern", "format", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "multipleOf"),
}


def arguments(parameters: Schema, definition: Definition, *, full: bool, choice: int = 0) -> dict[str, Any]:
    """Arguments of a function: the required ones, or all (`full`). `choice` says which of alternatives is taken."""
    return Generator(definition, full=full, choice=choice).members(parameters, 0)


def plain(schema: Schema) -> bool:
    """Whether a value of the schema is the same with and without optional parts."""
    return schema.get("type") in ("string", "integer", "number", "boolean")


class Generator:
    def __init__(self, definition: Definition, *, full: bool, choice: int = 0) -> None:
        self._definition = definition
        self._full = full
        self._choice = choice

    def value(self, schema: Schema, depth: int = 0) -> Any:
        schema = self._flat(schema, depth)
        if "const" in schema:
            return schema["const"]
        if values := [v for v in schema.get("enum", ()) if v is not None]:
            return values[0]
        match self._kind(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer" | "number" as kind:
                return _number(schema, whole=kind == "integer")
            case "boolean":
                return True
            case "null":
                return None
        return _text(schema)

    def members(self, schema: Schema, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        chosen = [
            name
            for name, part in schema.get("properties", {}).items()
            if name in required or (self._full and depth < 3 and not self._flat(part, depth).get("readOnly"))
        ]
        return {name: self.value(schema["properties"][name], depth + 1) for name in chosen}

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        if depth > DEEPEST:
            return {}
        made = self.members(schema, depth)
        for name in schema.get("required", ()):  # one that no property describes
            made.setdefault(name, "x")
        spare = [name for name in schema.get("properties", {}) if name not in made]
        extra = schema.get("additionalProperties")
        while len(made) < min(schema.get("minProperties", 0), 50):
            if spare:
                made[name] = self.value(schema["properties"][name := spare.pop(0)], depth + 1)
            else:
                made[f"key{len(made)}"] = self.value(
                    extra if isinstance(extra, dict) else {"type": "string"}, depth + 1
                )
        if not made and self._full and isinstance(extra, dict) and depth < 3:
            made["key"] = self.value(extra, depth + 1)
        return made

    def _array(self, schema: Schema, depth: int) -> list[Any]:
        several = self._full and depth < 3 and not schema.get("uniqueItems")
        wanted = max(schema.get("minItems", 0), 2 if several else 1)
        wanted = min(wanted, schema.get("maxItems", wanted), 50)
        if depth > DEEPEST:
            return []
        fixed = [self.value(part, depth + 1) for part in schema.get("prefixItems", ())]
        items = schema.get("items", {"type": "string"})
        made = [*fixed, *(self.value(items, depth + 1) for _ in range(len(fixed), wanted))]
        return self._distinct(made, items) if schema.get("uniqueItems") else made

    def _distinct(self, values: list[Any], items: Schema) -> list[Any]:
        """Unequal items, as many as there can be without effort."""
        options = self._flat(items, 0).get("enum") or values
        if options is values and values and all(isinstance(v, (str, int)) and not isinstance(v, bool) for v in values):
            options = [v + (i if isinstance(v, int) else str(i) if i else "") for i, v in enumerate(values)]
        return list({repr(v): v for v in options[: len(values)]}.values())

    def _kind(self, schema: Schema) -> str:
        kinds = schema.get("type")
        if isinstance(kinds, str):
            return kinds
        if kinds:
            return next((k for k in kinds if k != "null"), "null")
        return next((kind for kind, keys in _KINDS.items() if any(key in schema for key in keys)), "string")

    def _flat(self, schema: Schema, depth: int) -> dict[str, Any]:
        """One schema without references, `allOf` and alternatives."""
        flat: dict[str, Any] = {}
        for part in self._parts(schema, 0):
            flat = _both(flat, part)
        return flat

    def _parts(self, schema: Schema, hops: int) -> Iterable[Schema]:
        if hops > 30:
            return
        own = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "anyOf")}
        if "$ref" in schema:
            found = self._definition(schema["$ref"].removeprefix("#/$defs/")) or {}
            yield from self._parts(found, hops + 1)
        for part in schema.get("allOf", ()):
            yield from self._parts(part, hops + 1)
        if options := [o for o in schema.get("anyOf", ()) if o.get("type") != "null"]:
            yield from self._parts(options[self._choice % len(options)], hops + 1)
        yield own


def _both(one: Mapping[str, Any], other: Schema) -> dict[str, Any]:
    """What satisfies both of two flat schemas, as far as it can be said by one."""
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        names = [*one["properties"], *(n for n in other["properties"] if n not in one["properties"])]
        both["properties"] = {n: _and(one["properties"].get(n), other["properties"].get(n)) for n in names}
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    if "enum" in one and "enum" in other:
        both["enum"] = [v for v in one["enum"] if v in other["enum"]] or one["enum"]
    return both


def _and(one: Schema | None, other: Schema | None) -> Schema:
    if one is None or other is None or one == other:
        return one if one is not None else other or {}
    return {"allOf": [one, other]}


def _number(schema: Schema, *, whole: bool) -> int | float:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf") or (1 if whole else 0.5)
    if low is None and above is not None:
        low = above + step
    if high is None and below is not None:
        high = below - step
    value = max(low, 1) if low is not None else 1
    if high is not None:
        value = min(value, high)
    rounded = -(-value // step) * step
    if high is not None and rounded > high:
        rounded = value
    return int(rounded) if whole or float(rounded).is_integer() else rounded


def _text(schema: Schema) -> str | dict[str, str]:
    form, least, most = schema.get("format"), schema.get("minLength", 0), schema.get("maxLength", 1000)
    if form == "binary":
        return {"base64": "AAH/YmluYXJ5"}  # no text in any encoding
    examples = () if form in _TEXTS else (*schema.get("examples", ()), schema.get("default"))
    for candidate in (*examples, _TEXTS.get(str(form))):
        if isinstance(candidate, str) and candidate and least <= len(candidate) <= most and _fits(schema, candidate):
            return candidate
    if "pattern" in schema:
        return _matching(schema["pattern"], least, most)
    return ("a b/c&d=é" if form is None and most >= 9 and least <= 9 else "a" * max(least, 1))[:most]


def _fits(schema: Schema, text: str) -> bool:
    return "pattern" not in schema or re.search(schema["pattern"], text) is not None


@functools.cache
def _matching(pattern: str, least: int, most: int) -> str:
    """The simplest text that has the pattern."""
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import NoSuchExample
    from hypothesis.strategies import from_regex

    plain = settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=500,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def right(text: str) -> bool:
        return max(least, 1) <= len(text) <= most and text.isascii() and text.isprintable() and text == text.strip()

    for whole in (True, False):
        try:
            return find(from_regex(pattern, fullmatch=whole), right, settings=plain)
        except NoSuchExample:
            continue
    return "a" * max(least, 1)
