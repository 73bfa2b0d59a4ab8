"""What an operator knows better than a document: by `extra` programs give what it does not name, by `optional` leave
out what it wants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from doorward.access.policy import selected
from doorward.config.settings import ServerSettings
from doorward.data.near_names import nearest
from doorward.model.types import Compiled, Function, Schema

_MAX_DEPTH = 30
"""Schemas within schemas in which a field is looked for: references may lead in a circle."""

_MAX_SCHEMAS = 300
"""Schemas in which one is looked for altogether: a few lines can refer to billions, and each that is changed is a
copy."""

_MAX_SHOWN_FIELDS = 3
"""Fields that an error tells the operator to correct."""

_COMBINATORS = ("allOf", "anyOf", "oneOf")


def corrected(compiled: Compiled, settings: ServerSettings) -> Compiled:
    """The compile with what its server's configuration corrects, and a warning about each correction that fits
    nothing."""
    functions, warnings = list(compiled.functions), list(compiled.warnings)
    if settings.extra == "allow":
        functions = [
            replace(f, parameters={**f.parameters, "additionalProperties": True}) if f.open else f for f in functions
        ]
    for entry in settings.optional:
        places, path = _meant(entry, functions)
        lifted = {place: _Lift(path, compiled.definitions).of(functions[place]) for place in places}
        for place, result in lifted.items():
            functions[place] = (
                functions[place] if isinstance(result, str) else replace(functions[place], parameters=result)
            )
        if (
            wrong := [result for result in lifted.values() if isinstance(result, str)]
            if lifted
            else [_unknown(entry, functions)]
        ):
            warnings += [f"optional: {entry!r}: {wrong[0]}"] if len(wrong) >= len(lifted) else []
    return replace(compiled, functions=functions, warnings=warnings)


def advice(function: Function, errors: Iterable[Any]) -> list[str]:
    """How the operator can have arguments accepted that a document is wrong about."""
    required: dict[str, None] = {}
    more = False
    for error in errors:
        if error.kind.name == "required":
            path = [part for part in error.instance_path if isinstance(part, str)]
            required[".".join([function.name, *path, error.kind.property])] = None
        elif error.kind.name == "additionalProperties" and not error.instance_path and function.open:
            more = True
    told = ['extra = "allow"'] if more else []
    if required:
        told.append(f"optional = {json.dumps(list(required)[:_MAX_SHOWN_FIELDS])}")
    return (
        [f"if the document of {function.server} is wrong in this, its operator can set {' and '.join(told)}"]
        if told
        else []
    )


def _meant(entry: str, functions: Sequence[Function]) -> tuple[list[int], list[str]]:
    """The functions that an entry means, by their places, and the path to the field behind. An id may have dots,
    too."""
    for at in (at for at, sign in enumerate(entry) if sign == "."):
        if found := [place for place, f in enumerate(functions) if selected(f, [entry[:at]])]:
            return found, entry[at + 1 :].split(".")
    return [], []


def _unknown(entry: str, functions: Sequence[Function]) -> str:
    name, dot, path = entry.partition(".")
    near = nearest(name, [f.name for f in functions], 1)
    return "fits no function" + (
        f"; did you mean {near[0] + (dot + path or '.ARGUMENT')!r}?" if near else "; write FUNCTION.ARGUMENT"
    )


class _Lift:
    """Takes a field out of what is required, in the copy of one function: others share its definitions."""

    def __init__(self, path: list[str], definitions: Mapping[str, Schema]) -> None:
        self._path, self._definitions = path, definitions
        self._lifted = False
        self._known: dict[str, None] = {}
        self._fuel = _MAX_SCHEMAS

    def of(self, function: Function) -> Schema | str:
        """The function's parameters, or what is wrong."""
        properties, path = function.parameters.get("properties", {}), self._path
        if (
            path[0] == "body" and "body" not in properties and len(path) > 1
        ):  # as documents have it; here its fields are arguments
            path = path[1:]
        path = [next((ours for ours, theirs in function.names.items() if theirs == path[0]), path[0]), *path[1:]]
        if len(path) == 1 and f"{{{function.names.get(path[0], path[0])}}}" in function.route:
            return "it is part of the path"
        lifted: Schema = self._lift(function.parameters, path, _MAX_DEPTH)
        if self._lifted:
            return lifted
        if path[-1] in self._known:
            return "it is not required"
        near = nearest(path[-1], self._known, 1)
        return f"{function.name} has no such argument or field" + (f"; did you mean {near[0]!r}?" if near else "")

    def _lift(self, schema: Any, path: list[str], depth: int) -> Any:
        self._fuel -= 1
        if not isinstance(schema, Mapping) or not depth or self._fuel < 0:
            return schema
        if isinstance(ref := schema.get("$ref"), str):
            target = self._definitions.get(ref.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~"))
            return self._instead(
                schema, {**(target or {}), **{k: v for k, v in schema.items() if k != "$ref"}}, path, depth
            )
        out = dict(schema)
        properties = schema.get("properties")
        name, *inner = path
        if not inner and isinstance(properties, Mapping):
            self._known |= dict.fromkeys(properties)
        if not inner and name in schema.get("required", ()):
            self._lifted = True
            out["required"] = [other for other in schema["required"] if other != name]
        elif inner and isinstance(properties, Mapping) and name in properties:
            out["properties"] = {**properties, name: self._lift(properties[name], inner, depth - 1)}
        for key in _COMBINATORS:
            if isinstance(schema.get(key), list):
                out[key] = [self._lift(part, path, depth - 1) for part in schema[key]]
        if "items" in schema:
            out["items"] = self._lift(schema["items"], path, depth - 1)
        return out

    def _instead(self, schema: Schema, target: Schema, path: list[str], depth: int) -> Schema:
        """What a reference stands for, if something is taken out of it; else the reference, which has a name."""
        before, self._lifted = self._lifted, False
        found: Schema = self._lift(target, path, depth - 1)
        changed, self._lifted = self._lifted, before or self._lifted
        return found if changed else schema
