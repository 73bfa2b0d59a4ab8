"""Leaves out of a schema what is wrong in it: a field of an unknown type loses itself, not the whole server."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from graphql import DocumentNode, specified_scalar_types
from graphql.language import ast

Faults = list[tuple[str, str]]

_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]*")
_NO_VALUES = {"true", "false", "null"}
_GIVEN = {"SCALAR", "ENUM", "INPUT_OBJECT"}
_ANSWERED = {"SCALAR", "ENUM", "OBJECT", "INTERFACE", "UNION"}
_KINDS: dict[type[ast.Node], str] = {
    ast.ScalarTypeDefinitionNode: "SCALAR",
    ast.EnumTypeDefinitionNode: "ENUM",
    ast.InputObjectTypeDefinitionNode: "INPUT_OBJECT",
    ast.ObjectTypeDefinitionNode: "OBJECT",
    ast.InterfaceTypeDefinitionNode: "INTERFACE",
    ast.UnionTypeDefinitionNode: "UNION",
}


class _Types:
    """The kinds of types by their names; what is wrong is told to `faults`."""

    def __init__(self, kinds: Mapping[str, str], faults: Faults) -> None:
        self._kinds, self._faults = {**dict.fromkeys(specified_scalar_types, "SCALAR"), **kinds}, faults

    def fits(self, where: str, name: Any, type: Any, kinds: set[str]) -> bool:
        """Whether a field or an argument has a name, and a type of one of these kinds."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith("__"):
            return self.fault(where, f"{str(name)[:100]!r} is no name")
        if (kind := self._kinds.get(type) if isinstance(type, str) else None) not in kinds:
            what = "is unknown" if kind is None else "cannot stand here"
            return self.fault(where, f"the type {str(type)[:100]!r} {what}")
        return True

    def fault(self, where: str, why: str) -> bool:
        self._faults.append((where, why))
        return False


# SDL


def sound_syntax(document: DocumentNode, faults: Faults) -> DocumentNode:
    """A document in SDL without the definitions that are wrong."""
    definitions = list(document.definitions)
    kinds = {d.name.value: _KINDS[type(d)] for d in definitions if type(d) in _KINDS}  # type: ignore[attr-defined]
    types = _Types(kinds, faults)
    return DocumentNode(definitions=tuple(_sound(types, each) for each in definitions))


def _sound(types: _Types, node: Any) -> Any:
    """A definition without what is wrong in it."""
    where = node.name.value if getattr(node, "name", None) else ""
    sound: dict[str, Any] = {}
    if isinstance(node, (ast.InputObjectTypeDefinitionNode, ast.InputObjectTypeExtensionNode)):
        sound["fields"] = tuple(f for f in node.fields or () if _given(types, where, f))
    elif hasattr(node, "fields"):
        sound["fields"] = tuple(f for f in node.fields or () if _answered(types, where, f))
    if hasattr(node, "interfaces"):
        known = (t for t in node.interfaces or () if types.fits(where, where, t.name.value, {"INTERFACE"}))
        sound["interfaces"] = tuple(known)
    if isinstance(node, (ast.UnionTypeDefinitionNode, ast.UnionTypeExtensionNode)):
        sound["types"] = tuple(t for t in node.types or () if types.fits(where, where, t.name.value, {"OBJECT"}))
    if isinstance(node, ast.DirectiveDefinitionNode):
        sound["arguments"] = tuple(a for a in node.arguments or () if _given(types, f"@{where}", a))
    return replace(node, **sound) if sound else node


def _given(types: _Types, where: str, node: ast.InputValueDefinitionNode) -> bool:
    return types.fits(f"{where}.{node.name.value}", node.name.value, _named(node.type), _GIVEN)


def _answered(types: _Types, where: str, node: ast.FieldDefinitionNode) -> bool:
    place = f"{where}.{node.name.value}"
    own = types.fits(place, node.name.value, _named(node.type), _ANSWERED)
    return own and all(_given(types, place, argument) for argument in node.arguments or ())


def _named(node: Any) -> Any:
    while not isinstance(node, ast.NamedTypeNode):
        node = node.type
    return node.name.value


# Introspection


def sound_introspection(told: Mapping[str, Any], faults: Faults) -> Any:
    """The answer to an introspection query without what is wrong in it."""
    schema = told["__schema"]
    listed = [t for t in _dicts(schema.get("types")) if isinstance(t.get("name"), str) and _NAME.fullmatch(t["name"])]
    types = _Types({t["name"]: t["kind"] for t in listed if isinstance(t.get("kind"), str)}, faults)

    def some(where: str, members: Any, fits: Callable[[str, dict[str, Any]], bool]) -> list[dict[str, Any]]:
        return [m for m in _dicts(members) if fits(f"{where}.{m.get('name')}"[:200], m)]

    def given(where: str, member: dict[str, Any]) -> bool:
        return types.fits(where, member.get("name"), _told(member.get("type")), _GIVEN)

    def answered(where: str, member: dict[str, Any]) -> bool:
        own = types.fits(where, member.get("name"), _told(member.get("type")), _ANSWERED)
        return own and all(given(f"{where}.{a.get('name')}"[:200], a) for a in _dicts(member.get("args")))

    def value(where: str, member: dict[str, Any]) -> bool:
        name = member.get("name")
        sound = isinstance(name, str) and _NAME.fullmatch(name) is not None and name not in _NO_VALUES
        return sound or types.fault(where, "it is no value of an enum")

    kept = []
    for each in listed:
        name, each = each["name"], dict(each)
        if name.startswith("__"):
            kept.append(each)
            continue
        if each.get("kind") in ("OBJECT", "INTERFACE"):
            each["fields"] = [{**f, "args": _dicts(f.get("args"))} for f in some(name, each.get("fields"), answered)]
            each["interfaces"] = [
                t for t in _dicts(each.get("interfaces")) if types.fits(name, name, t.get("name"), {"INTERFACE"})
            ]
        elif each.get("kind") == "INPUT_OBJECT":
            each["inputFields"] = some(name, each.get("inputFields"), given)
        elif each.get("kind") == "ENUM":
            each["enumValues"] = some(name, each.get("enumValues"), value)
        if each.get("kind") in ("UNION", "INTERFACE"):
            each["possibleTypes"] = [
                t for t in _dicts(each.get("possibleTypes")) if types.fits(name, name, t.get("name"), {"OBJECT"})
            ]
        kept.append(each)
    directives = [d for d in _dicts(schema.get("directives")) if all(given("@", a) for a in _dicts(d.get("args")))]
    return {**told, "__schema": {**schema, "types": kept, "directives": directives}}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _told(type: Any) -> Any:
    """The name of the type within lists and what may not be null."""
    for _ in range(100):
        if not isinstance(type, dict) or type.get("kind") not in ("LIST", "NON_NULL"):
            break
        type = type.get("ofType")
    return type.get("name") if isinstance(type, dict) else None
