"""The input schema of a tool → the keyword arguments of a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from doorward.values import is_plain, unique_names

from doorward_mcp_upstream.tools.schemas import Schemas
from doorward_mcp_upstream.tools.text import line

MAX_PARAMETERS = 500
"""Parameters of one tool. Nobody could call a function with more."""

_MAX_PARTS = 2000
"""Parts of a schema (`allOf`, alternatives, references) that are searched for parameters."""

_MAX_DEPTH = 10


class Unusable(Exception):
    """Why a tool cannot become a function."""


def parameters(schema: Any, schemas: Schemas, title: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The schema of the arguments, and the tool's own names of those that have other names in Python.

    Raises: Unusable.
    """
    if schema is None or schema is True:
        schema = {"type": "object"}
    if not isinstance(schema, Mapping):
        raise Unusable("its input schema is not an object")
    own = schema.get("properties")
    root = schemas.convert(schema, f"{title}_input")
    if "object" not in (kind := root.get("type", "object")):
        raise Unusable(f"its input is of type {line(str(kind), 100)}, not an object")
    found = _Found(schemas)
    properties, required = found.properties(root)
    if len(properties) > MAX_PARAMETERS or (isinstance(own, Mapping) and len(own) > MAX_PARAMETERS):
        raise Unusable(f"it has more than {MAX_PARAMETERS} parameters")
    names = _python_names(properties)
    ordered = sorted(properties, key=lambda name: name not in required)
    out: dict[str, Any] = {"type": "object", "properties": {names[p]: properties[p] for p in ordered}}
    if required:
        out["required"] = [names[p] for p in ordered if p in required]
    if variants := [found.variant(part, properties, names) for part in schemas.meant(root).get("anyOf", ())]:
        out["anyOf"] = variants
    out["additionalProperties"] = root.get("additionalProperties") or _open(schema)
    return out, {python: original for original, python in names.items() if python != original}


class _Found:
    """Combines the parts of an input schema. The fuel puts an end to schemas that refer to themselves over and over."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._fuel = _MAX_PARTS

    def properties(self, schema: Mapping[str, Any], depth: int = _MAX_DEPTH) -> tuple[dict[str, Any], set[str]]:
        """The properties of an object and of all its parts, and which of them are required. Of alternatives: the
        properties of each, and those that every one requires."""
        self._fuel -= 1
        properties: dict[str, Any] = dict(schema.get("properties", {}))
        required: set[str] = set(schema.get("required", ()))
        if depth and self._fuel > 0:
            for part in [*schema.get("allOf", ()), *self._referred(schema)]:
                more, needed = self.properties(part, depth - 1)
                properties = {**more, **properties}
                required |= needed
            offered = [
                self.properties(part, depth - 1) for part in schema.get("anyOf", ()) if part.get("type") != "null"
            ]
            for name in dict.fromkeys(name for more, _ in offered for name in more):
                several = _distinct(more[name] for more, _ in offered if name in more)
                properties.setdefault(name, several[0] if len(several) == 1 else {"anyOf": several[:20]})
            if offered:
                required |= set.intersection(*(needed for _, needed in offered))
        return properties, required & properties.keys()

    def variant(self, schema: Mapping[str, Any], whole: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """What one alternative demands beyond the whole, under the names of the parameters."""
        properties, required = self.properties(schema)
        told = {names[p]: s for p, s in properties.items() if p in names and s != whole[p]}
        needed = sorted(names[p] for p in required if p in names)
        return {**({"properties": told} if told else {}), **({"required": needed} if needed else {})}

    def _referred(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        ref = schema.get("$ref")
        return [self._schemas.definitions[ref.removeprefix("#/$defs/")]] if isinstance(ref, str) else []


def _distinct(schemas: Iterable[Any]) -> list[Any]:
    several: list[Any] = []
    for schema in schemas:
        if schema not in several:
            several.append(schema)
    return several


def _open(schema: Mapping[str, Any]) -> bool:
    """Whether a tool takes arguments that its schema does not name.

    By the standard, a schema allows other properties unless it forbids them. But a tool can only ignore or refuse what
    it does not know, so a wrong name is reported at once.
    """
    extra = schema.get("additionalProperties")
    if isinstance(extra, bool):
        return extra
    return not any(key in schema for key in ("properties", "$ref", "allOf", "anyOf", "oneOf"))


def _python_names(originals: Iterable[str]) -> dict[str, str]:
    """A name for each parameter: its own if Python can write it."""
    names = {name: name for name in originals if is_plain(name)}
    taken = set(names)
    for original, plain in unique_names(name for name in originals if name not in names).items():
        name, count = plain, 1
        while name in taken:
            count += 1
            name = f"{plain.rstrip('_')}_{count}"
        taken.add(name)
        names[original] = name
    return names
