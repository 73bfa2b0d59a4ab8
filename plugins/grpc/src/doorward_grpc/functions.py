"""Methods → functions: messages as JSON Schemas, in the JSON form of protobuf."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Any

from doorward import Compiled, Function, Skipped
from doorward.values import unique_names
from google.protobuf.descriptor import Descriptor, FieldDescriptor

MAX_FUNCTIONS = 5_000
_READS = re.compile(r"(Get|List|BatchGet|Search|Query|Count|Check|Describe|Lookup|Find|Watch)([A-Z0-9]|$)")
_DESTROYS = re.compile(r"(Delete|BatchDelete|Remove|Purge|Destroy|Drop)([A-Z0-9]|$)")
_WELL_KNOWN: dict[str, dict[str, Any]] = {
    "Timestamp": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string", "description": 'seconds: "1.5s"'},
    "FieldMask": {"type": "string", "description": "names of fields, with commas between"},
    "Struct": {"type": "object"}, "Value": {}, "ListValue": {"type": "array"}, "Any": {"type": "object"},
    "Empty": {"type": "object", "properties": {}}, "BoolValue": {"type": ["boolean", "null"]},
    "StringValue": {"type": ["string", "null"]}, "BytesValue": {"type": ["string", "null"]},
    "DoubleValue": {"type": ["number", "null"]}, "FloatValue": {"type": ["number", "null"]},
    **{f"{kind}Value": {"type": ["integer", "string", "null"]} for kind in ("Int32", "Int64", "UInt32", "UInt64")},
}  # fmt: skip
_LARGE = {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}
_KINDS = {
    FieldDescriptor.CPPTYPE_INT32: "integer", FieldDescriptor.CPPTYPE_UINT32: "integer",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
}  # fmt: skip
_NO_SIDE_EFFECTS, _IDEMPOTENT = 1, 2


def compiled(server: str, pool: Any, services: Collection[str], patterns: Collection[str]) -> Compiled:
    """The methods of services as functions. Raises: KeyError for a service that its descriptors lack."""
    methods: list[Any] = []
    skipped = []
    for name in sorted({each for each in services if any(fnmatchcase(each, p) for p in patterns)}):
        for method in pool.FindServiceByName(name).methods:
            if method.client_streaming:
                skipped.append(Skipped(method.full_name, "it takes a stream of messages"))
            elif len(methods) < MAX_FUNCTIONS:
                methods.append(method)
    alone = len({method.containing_service.full_name for method in methods}) == 1
    ids = {m.full_name: m.name if alone else f"{m.containing_service.name}_{m.name}" for m in methods}
    names = unique_names(_snake(each) for each in ids.values())
    definitions: dict[str, Any] = {}
    functions = []
    for method in methods:
        answer = _message(method.output_type, definitions)
        level = method.GetOptions().idempotency_level
        safe = level == _NO_SIDE_EFFECTS
        properties = {field.name: _field(field, definitions) for field in method.input_type.fields}
        functions.append(
            Function(
                server, names[_snake(ids[method.full_name])], method.full_name,
                f"{_words(method.name)} ({method.containing_service.full_name})",
                parameters={"type": "object", "properties": properties, "additionalProperties": False},
                returns={"type": "array", "items": answer} if method.server_streaming else answer,
                read_only=safe, idempotent=safe or level == _IDEMPOTENT,
                guessed_read=not safe and bool(_READS.match(method.name)),
                guessed_destructive=not safe and bool(_DESTROYS.match(method.name)),
                tags=(method.containing_service.name,),
                data={"service": method.containing_service.full_name, "method": method.name},
            )
        )  # fmt: skip
    return Compiled(functions, definitions, skipped=skipped)


def _message(message: Descriptor, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a message, which is defined once."""
    if message.file.package == "google.protobuf" and message.name in _WELL_KNOWN:
        return dict(_WELL_KNOWN[message.name])
    key = message.full_name
    todo = [message]
    while todo:
        each = todo.pop()
        if each.full_name not in definitions:
            definitions[each.full_name] = {}
            properties = {field.name: _field(field, definitions, todo) for field in each.fields}
            definitions[each.full_name] = {"type": "object", "properties": properties}
    return {"$ref": f"#/$defs/{key}"}


def _field(field: Any, definitions: dict[str, Any], todo: list[Descriptor] | None = None) -> dict[str, Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        return {"type": "object", "additionalProperties": _one(value, definitions, todo)}
    one = _one(field, definitions, todo)
    return {"type": "array", "items": one} if field.is_repeated else one


def _one(field: Any, definitions: dict[str, Any], todo: list[Descriptor] | None) -> dict[str, Any]:
    if (message := field.message_type) is not None:
        if todo is None or (message.file.package == "google.protobuf" and message.name in _WELL_KNOWN):
            return _message(message, definitions)
        todo.append(message)  # messages may be nested without end: none is entered from another one
        return {"$ref": f"#/$defs/{message.full_name}"}
    if field.enum_type is not None:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    if field.cpp_type in _LARGE:
        return {"type": ["integer", "string"], "format": "int64"}  # answers have them as text
    if field.type == FieldDescriptor.TYPE_BYTES:
        return {"type": "string", "contentEncoding": "base64"}
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return {"type": "string"}
    return {"type": _KINDS.get(field.cpp_type, "number")}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().replace("__", "_")


def _words(name: str) -> str:
    return _snake(name).replace("_", " ").capitalize()
