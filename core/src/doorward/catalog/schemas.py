"""Reading untrusted JSON Schemas: references, `allOf` and variants.

Whatever a schema holds, reading it ends soon and raises nothing: every schema that is looked at costs fuel, and
references are resolved one at a time when they are met, each only once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from doorward.data.clean_text import visible
from doorward.model.functions import Function, Schema
from doorward.model.names import is_plain

Definitions = Callable[[str], Schema | None]
"""Looks up the NAME of `{"$ref": "#/$defs/NAME"}`: its schema, or `None`. It is called once for each name."""

MAX_NESTING = 6
"""How deeply nested schemas are followed; deeper ones are ignored."""

_READER_FUEL = 1500
_TYPE_KEYWORDS = ("$ref", "type", "const", "enum", "oneOf", "anyOf", "allOf", "properties", "items")


class Reader:
    """The schemas of one server, read for one text. `fuel` is how many schemas may be looked at for one function,
    `spent` how many were looked at before the last `refuel`."""

    def __init__(self, definitions: Definitions, fuel: int = _READER_FUEL) -> None:
        self._full = self._fuel = fuel
        self.spent = 0
        self._definitions = definitions
        self._resolved: dict[str, Schema] = {}
        self.refuel()

    def refuel(self) -> None:
        """Begin with another function: each has its own fuel."""
        self.spent += self._full - self._fuel
        self._fuel = self._full

    def burn(self) -> bool:
        """Pay for looking at one schema. Returns: whether there was fuel left."""
        self._fuel -= 1
        return self._fuel >= 0

    def resolve(self, schema: Any, nesting: int = MAX_NESTING) -> tuple[str, Schema]:
        """The name that a schema refers to (or ""), and the schema with `$ref` and `allOf` merged in."""
        own = table(schema)
        if "$ref" not in own and "allOf" not in own:
            return "", own
        name = own["$ref"].removeprefix("#/$defs/") if isinstance(own.get("$ref"), str) else ""
        merged = {k: v for k, v in own.items() if k not in ("$ref", "allOf")}
        if nesting and self.burn():
            for part in listed(own.get("allOf"), 50):
                _merge(merged, self.resolve(part, nesting - 1)[1])
            if name:
                _merge(merged, self._definition(name, nesting))
        return name, merged

    def _definition(self, name: str, nesting: int) -> Schema:
        if name not in self._resolved:
            self._resolved[name] = {}  # where a circle of references ends
            possible = len(name) <= 1000 and name.isprintable() and visible(name) == name
            self._resolved[name] = self.resolve(self._definitions(name), nesting - 1)[1] if possible else {}
        return self._resolved[name]

    def properties(self, schema: Schema, *, hidden: str = "readOnly") -> dict[str, Any]:
        """The properties of a resolved object and of its variants, without the `hidden` ones. A required one that
        nothing describes may be anything."""
        found = dict(table(schema.get("properties")))
        for variant in variants(schema):
            for key, value in table(self.resolve(variant)[1].get("properties")).items():
                found.setdefault(key, value)
        for key in listed(schema["required"], 1000) if "required" in schema else ():
            if isinstance(key, str) and key not in found:
                found[key] = {}
        some = islice(found.items(), 1000)
        return {k: v for k, v in some if isinstance(k, str) and v is not False and table(v).get(hidden) is not True}

    def part(self, schema: Any, step: Any, nesting: int = MAX_NESTING) -> Any:
        """The schema of a field by its name, or of an item of a list by its number."""
        resolved = self.resolve(schema)[1]
        if isinstance(step, str) and (field := self.properties(resolved, hidden="").get(step)) is not None:
            return field
        found = resolved.get("additionalProperties")
        if isinstance(step, int):
            found = [*listed(resolved.get("prefixItems"), 100)[step : step + 1], resolved.get("items")][0]
        if table(found) or not nesting:
            return found
        inner = (self.part(variant, step, nesting - 1) for variant in variants(resolved) if self.burn())
        return next((part for part in inner if table(part)), None)


def table(value: Any) -> Mapping[str, Any]:
    """What should be an object, or an empty one."""
    return value if type(value) is dict or isinstance(value, Mapping) else {}  # the test for a mapping is slow


def listed(value: Any, most: int) -> list[Any]:
    """The first items of a value that should be a list."""
    return list(islice(value, most)) if isinstance(value, (list, tuple)) else []


def strings(value: Any) -> set[str]:
    """The strings of a value that should be a list of strings, such as `required`."""
    return {v for v in listed(value, 1000) if isinstance(v, str)}


def variants(schema: Schema) -> list[Any]:
    """The schemas in `oneOf` and `anyOf`. One that names no type has the type of the whole."""
    if "oneOf" not in schema and "anyOf" not in schema:
        return []
    offered = [v for key in ("oneOf", "anyOf") for v in listed(schema.get(key), 200)]
    whole = {k: v for k, v in schema.items() if k in ("type", "items", "format")}
    return [
        {**v, **whole} if isinstance(v, Mapping) and not any(k in v for k in _TYPE_KEYWORDS) else v for v in offered
    ]


def kinds(schema: Schema) -> list[str]:
    """The JSON types of a schema, guessed from its keywords where it does not say."""
    match schema.get("type"):
        case str() as one:
            return [one]
        case list() | tuple() as several:
            return [kind for kind in several[:10] if isinstance(kind, str)]
    if "properties" in schema or "additionalProperties" in schema:
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else []


def _merge(merged: dict[str, Any], part: Schema) -> None:
    """Merge a part of `allOf` into a schema, as far as an annotation shows it."""
    for key, value in part.items():
        if key == "properties":
            before, now = table(merged.get(key)), table(value)
            merged[key] = {**now, **before} if before else now
            for name in before.keys() & now.keys() if before else ():
                merged[key][name] = _both(before[name], now[name])
        elif key == "required":
            merged[key] = [*strings(merged.get(key)), *strings(value)]
        else:
            merged.setdefault(key, value)


def _both(schema: Any, another: Any) -> Any:
    """The schema of a property that two parts describe. Only the first says whether it is sent, or received."""
    if not (table(schema) and table(another)) or schema == another:
        return schema
    return {"allOf": [schema, another], **{key: schema[key] for key in ("readOnly", "writeOnly") if key in schema}}


def declared(function: Function, reader: Reader) -> tuple[dict[str, Any], set[str]]:
    """The parameters of a function with their schemas, and the names of those that it requires."""
    schema = reader.resolve(function.parameters)[1]
    return reader.properties(schema), strings(schema.get("required"))


def parameter_names(function: Function, definitions: Definitions) -> list[str]:
    """The parameters in the order of the signature, which is the order of positional arguments: required ones first,
    each group as declared. A name that cannot be written as a parameter is left out."""
    properties, required = declared(function, Reader(definitions))
    return sorted(filter(is_plain, properties), key=lambda name: name not in required)


def closure(schema: Any, definitions: Definitions) -> dict[str, Any]:
    """Every definition that a schema can reach by `$ref`, by name. `True` if it does not exist: anything goes."""
    found: dict[str, Any] = {}
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, Mapping):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/$defs/"):
                name = ref[8:].replace("~1", "/").replace("~0", "~")
                if name not in found:
                    found[name] = definitions(name) or True
                    todo.append(found[name])
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return found


BYTES_SCHEMAS = {
    form: [
        {"type": "string"},
        *({"type": "object", "required": [k], "properties": {k: {"type": "string"}}} for k in keys),
    ]
    for form, keys in (("binary", ("content", "artefact", "base64")), ("byte", ("artefact",)))
}
"""The schemas of what may be given for bytes, by format: text (to which a program's `bytes` are converted before), an
object with `content`, the handle of an artefact, base64."""
