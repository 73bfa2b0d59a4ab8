"""A function as a tool of its own, for agents that call tools by JSON Schema: its description and the schemas of its
arguments and its answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doorward import Function, Schema
from doorward.administration import BYTES_SCHEMAS, dump_json, plain_value, shown_schema
from doorward.texts import Definitions
from doorward.texts import kinds as schema_kinds
from doorward.texts import table as schema_table
from doorward_text import prose

_MAX_SCHEMA_BYTES = 32 * 2**10
"""Bytes of the schema of a tool's arguments, without definitions."""

_MAX_REQUIRED = 100
_TOOL_PARAMETER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OTHER_CHARACTER = re.compile(r"[^A-Za-z0-9_.-]")
_MAX_DEFINITIONS_BYTES = 16 * 2**10
"""Bytes of the definitions in one schema; definitions beyond that allow anything."""


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool as agents see it. Its schemas are of bounded size, whatever size the function's schemas have."""

    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None


def function_tool(function: Function, definitions: Definitions) -> FunctionTool:
    """The tool of a function."""
    return FunctionTool(
        title=function.summary[:100] or function.name,
        description=_described(function),
        input_schema=shown_schema(_with_files(_input(plain_value(function.parameters), definitions))),
        output_schema=_output(function, definitions),
    )


def tool_arguments(function: Function, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tool was given, under the names that its function has for them."""
    real = {_spoken(name): name for name in function.parameters.get("properties", {})}
    return {real.get(name, name): value for name, value in given.items()}


def _described(function: Function) -> str:
    summary, more = prose(function.summary, 200), prose(function.description, 600)
    return "\n\n".join(dict.fromkeys(filter(None, [summary, more]))) or function.qualified


def _input(schema: dict[str, Any], definitions: Definitions) -> dict[str, Any]:
    """The schema of a tool's arguments. If it is too large, it has only types, or only the required arguments."""
    properties = {_spoken(name): value for name, value in schema.get("properties", {}).items()}
    required = [_spoken(name) for name in schema.get("required", ())]
    whole = {**schema, "type": "object", "properties": properties} | ({"required": required} if required else {})
    types = {
        name: {"type": schema_kinds(value)[0]} if schema_kinds(value) else {} for name, value in properties.items()
    }
    few = {name: types.get(name, {}) for name in required[:_MAX_REQUIRED]}
    for smaller in (
        whole,
        {**whole, "properties": types},
        {"type": "object", "properties": few, "required": list(few)},
    ):
        if len(dump_json(smaller)) <= _MAX_SCHEMA_BYTES:
            break
    return _with_definitions(smaller, definitions)


def _spoken(name: str) -> str:
    """The name of a parameter in the form that model providers accept: for one other name they refuse all tools."""
    if _TOOL_PARAMETER.fullmatch(name):
        return name
    return f"{_OTHER_CHARACTER.sub('_', name)[:57]}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _output(function: Function, definitions: Definitions) -> dict[str, Any] | None:
    """The schema of a tool's answer. It allows anything besides what the document promises: answers may differ from
    that, and a client that checks them must not refuse them."""
    if not function.returns or len(dump_json(plain_value(function.returns))) > _MAX_SCHEMA_BYTES:
        return None
    # In this order no checker looks at the second schema, which could take it for ever.
    promised = {"anyOf": [{}, plain_value(function.returns)]}
    shape = promised if _is_object(function.returns, definitions) else {"properties": {"result": promised}}
    schema: dict[str, Any] = shown_schema(_with_definitions({"type": "object", **shape}, definitions))
    try:
        import jsonschema_rs

        jsonschema_rs.Draft202012Validator(schema)
    except ValueError:  # clients refuse every answer of a tool whose schema is invalid
        return None
    return schema


def _is_object(schema: Schema, definitions: Definitions) -> bool:
    for _ in range(10):
        ref = schema_table(schema).get("$ref")
        if not isinstance(ref, str):
            break
        schema = definitions(ref.removeprefix("#/$defs/")) or {}
    return "object" in schema_kinds(schema)


def _with_definitions(schema: dict[str, Any], definitions: Definitions) -> dict[str, Any]:
    """The schema with the definitions that it refers to, the nearest first."""
    defined: dict[str, Any] = {}
    room = _MAX_DEFINITIONS_BYTES
    todo: list[Any] = [schema]
    for node in todo:
        if isinstance(node, Mapping):
            ref = node.get("$ref")
            if isinstance(ref, str) and (name := ref.removeprefix("#/$defs/")) not in defined:
                found = plain_value(definitions(name))
                room -= len(dump_json(found))
                defined[name] = found if room >= 0 and found is not None else {}
                todo.append(defined[name])
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return {**schema, "$defs": defined} if defined else schema


def _with_files(schema: Any) -> Any:
    """The schema with all forms in which a file may be given, wherever it asks for bytes."""
    if isinstance(schema, list):
        return [_with_files(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "binary" and "string" in (may_be := schema_kinds(schema)):
        about = f"{schema.get('description', '')} (a file: text, the handle of a result, or base64 with a name)".strip()
        return {
            "description": about,
            "anyOf": [*BYTES_SCHEMAS["binary"], *({"type": kind} for kind in may_be if kind == "null")],
        }
    return {key: _with_files(value) for key, value in schema.items()}
