"""What is selected → the JSON Schema of the result."""

from __future__ import annotations

from typing import Any

from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLSchema,
    InlineFragmentNode,
    SelectionSetNode,
    is_abstract_type,
)

from doorward_graphql.inputs import Inputs, nullable
from doorward_graphql.scalars import scalar_schema
from doorward_graphql.selections import MAX_VARIANTS
from doorward_graphql.texts import line

_MAX_DESCRIPTION_CHARACTERS = 160


class Results:
    """The JSON Schemas of the results of one schema. Enums are definitions, which arguments have, too."""

    def __init__(self, schema: GraphQLSchema, inputs: Inputs) -> None:
        self._schema = schema
        self._inputs = inputs

    def schema(self, type: Any, selected: SelectionSetNode | None) -> dict[str, Any]:
        """The schema of a value of this type, of which this is selected."""
        if isinstance(type, GraphQLNonNull):
            inner = type.of_type
            if isinstance(inner, GraphQLList):
                return {"type": "array", "items": self.schema(inner.of_type, selected)}
            return self._named(inner, selected)
        return nullable(self.schema(GraphQLNonNull(type), selected))

    def _named(self, type: GraphQLNamedType, selected: SelectionSetNode | None) -> dict[str, Any]:
        if isinstance(type, GraphQLScalarType):
            return scalar_schema(type, sent=False)
        if isinstance(type, GraphQLEnumType):
            return self._inputs.enum(type)
        assert selected is not None
        return {"type": "object", "properties": self._properties(type, selected)}

    def _properties(self, type: Any, selected: SelectionSetNode) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for node in selected.selections:
            if isinstance(node, InlineFragmentNode):
                narrower = self._schema.type_map[node.type_condition.name.value] if node.type_condition else type
                for name, schema in self._properties(narrower, node.selection_set).items():
                    found.setdefault(name, schema)
            elif isinstance(node, FieldNode):
                found[node.alias.value if node.alias else node.name.value] = self._field(type, node)
        return found

    def _field(self, type: Any, node: FieldNode) -> dict[str, Any]:
        if node.name.value == "__typename":
            names = (
                sorted(each.name for each in self._schema.get_possible_types(type)) if is_abstract_type(type) else []
            )
            return {"type": "string"} | ({"enum": names} if 0 < len(names) <= MAX_VARIANTS else {})
        field = type.fields[node.name.value]
        said = line(field.description, _MAX_DESCRIPTION_CHARACTERS)
        return self.schema(field.type, node.selection_set) | ({"description": said} if said else {})
