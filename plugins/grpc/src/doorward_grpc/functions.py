"""Methods → functions: messages as JSON Schemas, in the JSON form of protobuf."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Any

from doorward import Compiled, Function, ServerError, Skipped
from doorward.values import unique_names
from google.protobuf.descriptor import Descriptor, FieldDescriptor

MAX_FUNCTIONS = 5_000
MAX_PARTS = 500_000
"""Fields and names of enums in the schemas of one server: each function repeats those of its message."""
_READS = re.compile(r"(Get|List|BatchGet|Search|Query|Count|Check|Describe|Lookup|Find|Watch)([A-Z0-9]|$)")
_WRITES = re.compile(
    r"(And|Or|In|Out|Acquire|Add|Claim|Clear|Commit|Create|Delete|Execute|Increment|Insert|Lock|Mark|Modify|Mutate|Pop"
    r"|Put|Remove|Replace|Reserve|Reset|Save|Set|Swap|Take|Touch|Update|Upsert|Write)([A-Z0-9]|$)"
)
"""Words by which a method that begins as one that reads does something, too: `GetOrCreate`, `CheckAndMutateRow`."""
_LANGUAGES = {"query", "sql", "statement", "script", "command", "expression", "expr"}
"""Fields in which a query may be a text that writes."""
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


class _Definitions(dict[str, Any]):
    """The schemas of messages, and how much more may be described."""

    left = MAX_PARTS

    def properties(self, message: Descriptor, todo: list[Descriptor] | None = None) -> dict[str, Any]:
        """Raises: ServerError, before a message is too much."""
        for field in message.fields:
            one = field
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                one = field.message_type.fields_by_name["value"]
            self.left -= 1 + (len(one.enum_type.values) if one.enum_type is not None else 0)
        if self.left < 0:
            raise ServerError(f"its messages have more than {MAX_PARTS} fields: name fewer `services`")
        return {field.name: _field(field, self, todo) for field in message.fields}


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
    definitions = _Definitions()
    functions = []
    for method in methods:
        answer = _message(method.output_type, definitions)
        level = method.GetOptions().idempotency_level
        safe = level == _NO_SIDE_EFFECTS
        properties = definitions.properties(method.input_type)
        functions.append(
            Function(
                server, names[_snake(ids[method.full_name])], method.full_name,
                f"{_words(method.name)} ({method.containing_service.full_name})",
                parameters={"type": "object", "properties": properties, "additionalProperties": False},
                returns={"type": "array", "items": answer} if method.server_streaming else answer,
                read_only=safe, idempotent=safe or level == _IDEMPOTENT,
                guessed_read=not safe and _reads(method),
                guessed_destructive=not safe and bool(_DESTROYS.match(method.name)),
                tags=(method.containing_service.name,),
                data={"service": method.containing_service.full_name, "method": method.name},
            )
        )  # fmt: skip
    return Compiled(functions, dict(definitions), skipped=skipped)


def _reads(method: Any) -> bool:
    """Whether a method reads, by its name, and by what it is asked with."""
    begins = _READS.match(method.name)
    if begins is None or _WRITES.search(method.name, begins.end(1)):
        return False
    texts = (f.name for f in method.input_type.fields if f.cpp_type == FieldDescriptor.CPPTYPE_STRING)
    return begins[1] != "Query" or _LANGUAGES.isdisjoint(texts)


def _message(message: Descriptor, definitions: _Definitions) -> dict[str, Any]:
    """The schema of a message, which is defined once."""
    if message.file.package == "google.protobuf" and message.name in _WELL_KNOWN:
        return dict(_WELL_KNOWN[message.name])
    key = message.full_name
    todo = [message]
    while todo:
        each = todo.pop()
        if each.full_name not in definitions:
            definitions[each.full_name] = {}
            properties = definitions.properties(each, todo)
            definitions[each.full_name] = {"type": "object", "properties": properties}
    return {"$ref": f"#/$defs/{key}"}


def _field(field: Any, definitions: _Definitions, todo: list[Descriptor] | None = None) -> dict[str, Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        return {"type": "object", "additionalProperties": _one(value, definitions, todo)}
    one = _one(field, definitions, todo)
    return {"type": "array", "items": one} if field.is_repeated else one


def _one(field: Any, definitions: _Definitions, todo: list[Descriptor] | None) -> dict[str, Any]:
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
