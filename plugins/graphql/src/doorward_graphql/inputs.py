"""Arguments → JSON Schema. Enums and input objects become definitions, so that an input object may hold itself."""

from __future__ import annotations

import json
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLNamedInputType,
    Undefined,
    get_named_type,
    get_nullable_type,
    is_input_object_type,
    is_list_type,
    is_non_null_type,
    is_required_input_field,
    is_scalar_type,
    value_from_ast_untyped,
)

from doorward_graphql.scalars import scalar_schema
from doorward_graphql.texts import line

MAX_DESCRIPTION_CHARACTERS = 300
_MAX_DEFAULT_CHARACTERS = 200
_UPLOAD = "Upload"
"""The scalar for files, which go by another way than arguments (the GraphQL multipart request specification)."""


class Inputs:
    """The JSON Schemas of the arguments of one schema; `definitions` are those to which they refer."""

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self._files: dict[str, bool] = {}

    def argument(self, argument: GraphQLArgument | GraphQLInputField, *, null: bool) -> dict[str, Any]:
        """The schema of an argument or a field of an input object. `null`: null may be sent for it."""
        type = argument.type
        schema = self._of(type) if null else self._given(type)
        said = line(argument.description, MAX_DESCRIPTION_CHARACTERS)
        if argument.deprecation_reason is not None:
            schema["deprecated"] = True
            said = f"Deprecated: {line(argument.deprecation_reason, 200)} {said}".strip()
        if said:
            schema["description"] = said
        default = default_of(argument)
        if default is not Undefined and len(json.dumps(default)) <= _MAX_DEFAULT_CHARACTERS:
            schema["default"] = default
        return schema

    def takes_file(self, argument: GraphQLArgument | GraphQLInputField) -> bool:
        """Whether a value of this argument is a file, or cannot be without one."""
        named = get_named_type(argument.type)
        if named.name in self._files or not is_input_object_type(named):
            return self._files.get(named.name, named.name == _UPLOAD)
        self._files[named.name] = False  # while it is being looked at: it may hold itself
        needed = [field for field in named.fields.values() if is_required_input_field(field)]
        self._files[named.name] = any(self.takes_file(field) for field in needed)
        return self._files[named.name]

    def enum(self, enum: GraphQLEnumType) -> dict[str, Any]:
        if enum.name not in self.definitions:
            about = line(enum.description, MAX_DESCRIPTION_CHARACTERS)
            self.definitions[enum.name] = {"type": "string", "enum": list(enum.values)} | (
                {"description": about} if about else {}
            )
        return {"$ref": f"#/$defs/{enum.name}"}

    def _of(self, type: GraphQLInputType) -> dict[str, Any]:
        return self._given(type) if is_non_null_type(type) else nullable(self._given(type))

    def _given(self, type: GraphQLInputType) -> dict[str, Any]:
        """The schema of a value that is not null."""
        inner: Any = get_nullable_type(type)
        return {"type": "array", "items": self._of(inner.of_type)} if is_list_type(inner) else self._named(inner)

    def _named(self, type: GraphQLNamedInputType) -> dict[str, Any]:
        if is_scalar_type(type):
            return scalar_schema(type, sent=True)
        if isinstance(type, GraphQLEnumType):
            return self.enum(type)
        assert isinstance(type, GraphQLInputObjectType)
        if type.name not in self.definitions:
            self.definitions[type.name] = {}
            self.definitions[type.name] = self._object(type)
        return {"$ref": f"#/$defs/{type.name}"}

    def _object(self, type: GraphQLInputObjectType) -> dict[str, Any]:
        fields = {name: field for name, field in type.fields.items() if not self.takes_file(field)}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self.argument(field, null=not type.is_one_of) for name, field in fields.items()},
            "additionalProperties": False,
        }
        if required := [name for name, field in fields.items() if is_required_input_field(field)]:
            schema["required"] = required
        about = line(type.description, MAX_DESCRIPTION_CHARACTERS)
        if type.is_one_of:
            schema |= {"minProperties": 1, "maxProperties": 1}
            about = f"Give exactly one of the fields. {about}".strip()
        return schema | ({"description": about} if about else {})


def default_of(argument: GraphQLArgument | GraphQLInputField) -> Any:
    """The default as plain JSON (a value of an enum is its name); `Undefined` if there is none."""
    if argument.default is None:
        return argument.default_value
    literal = argument.default.literal
    return argument.default.value if literal is None else value_from_ast_untyped(literal)


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with null as a further value."""
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    schema = {key: value for key, value in schema.items() if key != "not"}
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind] if kind else []
    return schema | ({"type": [*kinds, "null"]} if kinds else {})
