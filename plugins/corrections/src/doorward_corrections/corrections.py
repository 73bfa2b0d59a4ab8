"""Corrections of a document by its operator: with `extra`, programs may give arguments that it does not name; with
`optional`, they may leave out arguments that it requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from doorward import Function, Schema
from doorward.administration import selected, with_aliases
from doorward.texts import nearest

_MAX_DEPTH = 30
"""How deeply nested schemas are searched for a field: references may form a circle."""

_MAX_SCHEMAS = 300
"""Schemas that are searched for a field altogether: a few lines can refer to billions."""

_COMBINATORS = ("allOf", "anyOf", "oneOf")


def correct(
    functions: list[Function], definitions: Mapping[str, Schema], *, extra: bool, optional: Sequence[str]
) -> list[str]:
    """Correct the functions as configured. Returns: a warning for each correction that fits nothing."""
    warnings = []
    if extra:
        functions[:] = [
            replace(f, parameters={**f.parameters, "additionalProperties": True}) if f.open else f for f in functions
        ]
    called = with_aliases(functions) if optional else []  # by which programs and patterns mean them, too
    for entry in optional:
        places, path = _meant(entry, called)
        lifted = {place: _Lift(path, definitions).of(functions[place]) for place in places}
        for place, result in lifted.items():
            if not isinstance(result, str):
                functions[place] = replace(functions[place], parameters=result)
        wrong = [result for result in lifted.values() if isinstance(result, str)]
        if len(wrong) == len(lifted):
            warnings.append(f"optional: {entry!r}: {wrong[0] if wrong else _unknown(entry, functions)}")
    return warnings


def _meant(entry: str, functions: Sequence[Function]) -> tuple[list[int], list[str]]:
    """The functions that an entry means, by their places in the list, and the path to the field after their name. An id
    may have dots, too."""
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
    """Makes a field of one function optional, in a copy: other functions share its definitions."""

    def __init__(self, path: list[str], definitions: Mapping[str, Schema]) -> None:
        self._path, self._definitions = path, definitions
        self._lifted = False
        self._known: dict[str, None] = {}
        self._fuel = _MAX_SCHEMAS

    def of(self, function: Function) -> Schema | str:
        """The function's parameters, or what is wrong."""
        properties, path = function.parameters.get("properties", {}), self._path
        if path[0] == "body" and "body" not in properties and len(path) > 1:  # here the fields of a body are arguments
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
            beside = {k: v for k, v in schema.items() if k != "$ref"}
            return self._instead(schema, {**(target or {}), **beside}, path, depth)
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
        """The schema that a reference stands for, if the field was in it; else the reference, which has a name."""
        before, self._lifted = self._lifted, False
        found: Schema = self._lift(target, path, depth - 1)
        changed, self._lifted = self._lifted, before or self._lifted
        return found if changed else schema
