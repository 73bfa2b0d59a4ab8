"""A call → a GraphQL document. What a program selects is parsed and checked against the schema before it is sent;
values of arguments are variables, never part of the text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from doorward import Refused
from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    parse,
    print_ast,
    specified_rules,
    validate,
    visit,
)
from graphql.validation import OverlappingFieldsCanBeMergedRule

MAX_SELECT_CHARACTERS = 20_000
_MAX_SELECT_TOKENS = 4_000
_MAX_ERRORS = 3

_RULES = [rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule]
"""All but the one that compares each field with each other one. The server applies that one, too."""


class BadSelection(ValueError):
    """A selection that is no GraphQL, or not one of this schema."""


def parsed(select: str) -> SelectionSetNode:
    """A selection, with braces or without, and nothing besides it. Raises: BadSelection."""
    text = select.strip()
    if len(text) > MAX_SELECT_CHARACTERS:
        raise BadSelection(f"it has more than {MAX_SELECT_CHARACTERS} characters")
    text = text if text.startswith("{") else f"{{{text}\n}}"
    try:
        document = parse(text, max_tokens=_MAX_SELECT_TOKENS, allow_empty_selection_sets=False)
    except GraphQLError as error:
        raise BadSelection(error.message) from None
    except RecursionError:
        raise BadSelection("it is nested too deeply") from None
    only = document.definitions[0]
    if len(document.definitions) != 1 or not isinstance(only, OperationDefinitionNode):
        raise BadSelection("it must be one selection, such as `id owner { login }`")
    return only.selection_set


def document(data: Mapping[str, Any], given: Collection[str], selected: str) -> str:
    """The document of a call of the function with this `data`, with variables for the arguments that are `given`."""
    types, field = data["types"], data["field"]
    variables = ", ".join(f"${name}: {types[name]}" for name in given)
    arguments = ", ".join(f"{name}: ${name}" for name in given)
    within = " ".join(part for part in (selected, data.get("pages", {}).get("select", "")) if part)
    head, call = (f"({variables})", f"({arguments})") if given else ("", "")
    return f"{data['kind']} {field}{head} {{ {field}{call}{f' {{ {within} }}' if within else ''} }}"


def checked(schema: GraphQLSchema, data: Mapping[str, Any], given: Collection[str], select: str) -> str:
    """The selection as it is sent, if it fits the schema at the field of this `data`.

    Raises: BadSelection; Refused if it leads back to where queries begin, where policy knows other functions.
    """
    text = print_ast(parsed(select)).strip()[1:-1].strip()
    try:
        whole = parse(document(data, given, text))
        errors = validate(schema, whole, _RULES, max_errors=_MAX_ERRORS)
    except (GraphQLError, RecursionError) as error:
        raise BadSelection(getattr(error, "message", "it is nested too deeply")) from None
    if errors:
        raise BadSelection("; ".join(error.message for error in errors[:_MAX_ERRORS]))
    _Roots.check(schema, whole)
    return text


class _Roots(Visitor):
    """Finds fields of a root type below the first level."""

    def __init__(self, schema: GraphQLSchema, info: TypeInfo) -> None:
        super().__init__()
        self._roots = {schema.query_type, schema.mutation_type, schema.subscription_type}
        self._info = info
        self._depth = 0

    @classmethod
    def check(cls, schema: GraphQLSchema, whole: Any) -> None:
        """Raises: Refused."""
        info = TypeInfo(schema)
        visit(whole, TypeInfoVisitor(info, cls(schema, info)))

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        self._depth += 1
        parent = self._info.get_parent_type()
        if self._depth > 1 and parent in self._roots and node.name.value != "__typename":
            assert parent is not None
            raise Refused(
                f"select: `{node.name.value}` is a field of {parent.name}, where a function of its own begins",
                hint="Call that function.",
            )

    def leave_field(self, *_: Any) -> None:
        self._depth -= 1
