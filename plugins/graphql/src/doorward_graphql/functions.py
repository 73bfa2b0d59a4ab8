"""A schema → functions: each field of its Query and Mutation types becomes one, or is skipped with a reason."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from doorward import Compiled, Function, Skipped
from doorward.values import python_name, unique_names
from graphql import (
    GraphQLArgument,
    GraphQLField,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)

from doorward_graphql import connections
from doorward_graphql.documents import schema_and_faults
from doorward_graphql.inputs import Inputs
from doorward_graphql.requests import BadSelection, checked, parsed
from doorward_graphql.results import Results
from doorward_graphql.selections import Selections
from doorward_graphql.texts import line, summed_up

SCHEMA = "schema of the server"
"""The key of the schema's text among the compiled definitions. Names of types have no blanks, so there is no clash."""

MAX_FUNCTIONS = 20_000
MAX_SELECTED_CHARACTERS = 5_000_000
"""Characters of all default selections together: a small schema can multiply them by types that hold each other."""

_DESTROYS = {"delete", "remove", "destroy", "purge", "erase", "drop", "wipe", "truncate", "revoke", "terminate"}
"""Words by which the name of a mutation says that something is gone afterwards. GraphQL has no other sign of it."""

_SELECT = "Other fields of the result than those shown: `id owner { login }`"


def compile_schema(server: str, text: str, depth: int, select: Mapping[str, str]) -> Compiled:
    """All functions of a schema. `select` has the operator's selections, by the ids of functions. Raises:
    ConfigError."""
    return _Compiler(server, text, depth, select).run()


class _Compiler:
    def __init__(self, server: str, text: str, depth: int, select: Mapping[str, str]) -> None:
        self._server = server
        self._text = text
        self._schema, faults = schema_and_faults(text, f"the schema of {server}")
        schema = self._schema
        self._select = select
        self._inputs = Inputs()
        self._results = Results(schema, self._inputs)
        self._selections = Selections(schema, depth)
        self._skipped: list[Skipped] = []
        self._warnings: list[str] = []
        self._room = MAX_SELECTED_CHARACTERS
        for where, why in faults:
            self._skip(where, why)

    def run(self) -> Compiled:
        found = dict(self._found())
        names = unique_names(found)
        functions = [f for id, (kind, name) in found.items() if (f := self._function(names[id], id, kind, name))]
        for name in sorted(self._select.keys() - found.keys()):
            near = difflib.get_close_matches(name, found, n=1)
            self._warnings.append(f"select: there is no {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        if not found:
            self._warnings.append("the schema has no queries and no mutations")
        about = line(self._schema.description, 500)
        definitions: dict[str, Any] = {**self._inputs.definitions, SCHEMA: {"text": self._text}}
        return Compiled(functions, definitions, self._skipped, self._warnings, f"{about} {self._help()}".strip())

    def _help(self) -> str:
        return (
            'GraphQL: `select="id owner { login }"` selects other fields of a result than the default ones; '
            f'{self._server}.graphql_type("Query") shows the fields of a type.'
        )

    def _found(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """The fields of the root types by the ids of their functions, with their kinds. An id is the name of the field;
        of a mutation that is named like a query, with its kind."""
        schema = self._schema
        queries = schema.query_type.fields if schema.query_type else {}
        mutations = schema.mutation_type.fields if schema.mutation_type else {}
        both = [("query", name) for name in queries] + [("mutation", name) for name in mutations]
        for kind, name in both[:MAX_FUNCTIONS]:
            yield f"mutation.{name}" if kind == "mutation" and name in queries else name, (kind, name)
        if len(both) > MAX_FUNCTIONS:
            self._skip("the schema", f"it has more than {MAX_FUNCTIONS} queries and mutations; the others are left out")
        for name in schema.subscription_type.fields if schema.subscription_type else ():
            self._skip(f"subscription {name}", "it is a stream of events, not a call with an answer")

    def _function(self, name: str, id: str, kind: str, field_name: str) -> Function | None:
        root = self._schema.query_type if kind == "query" else self._schema.mutation_type
        assert root is not None
        field, where = root.fields[field_name], f"{kind} {field_name}"
        try:
            return self._made(name, id, kind, field_name, field)
        except _Unusable as error:
            self._skip(where, str(error))
        except Exception as error:  # whatever a schema holds, it costs one function only
            self._skip(where, f"it cannot be understood ({type(error).__name__}: {str(error)[:200]})")
        return None

    def _made(self, name: str, id: str, kind: str, field_name: str, field: GraphQLField) -> Function:
        arguments = dict(_usable(field.args, self._inputs))
        ours = unique_names(arguments)
        properties = {
            ours[each]: self._inputs.argument(argument, null=kind == "mutation") for each, argument in arguments.items()
        }
        data: dict[str, Any] = {
            "kind": kind,
            "field": field_name,
            "types": {each: str(argument.type) for each, argument in arguments.items()},
        }
        if pages := connections.plan(field, ours) if kind == "query" else None:
            data["pages"] = pages
        selected = self._selected(id, field, data)
        if selected:
            data["select"] = selected
            data["select_argument"] = extra = _free("select", properties)
            properties[extra] = {"type": "string", "description": _SELECT}
        summary, description = summed_up(field.description, 200, 1500)
        if field.deprecation_reason is not None:
            description = f"Deprecated: {line(field.deprecation_reason, 300)}\n\n{description}".strip()
        returns = self._results.schema(field.type, parsed(selected) if selected else None)
        return Function(
            self._server,
            name,
            id,
            summary,
            description,
            parameters={
                "type": "object",
                "properties": properties,
                "required": [ours[each] for each, argument in arguments.items() if is_required_argument(argument)],
                "additionalProperties": False,
            },
            returns=returns if selected or returns.keys() - {"description"} else None,
            read_only=kind == "query",
            destructive=kind == "mutation" and not _DESTROYS.isdisjoint(python_name(field_name).split("_")),
            idempotent=kind == "query",
            deprecated=field.deprecation_reason is not None,
            tags=(kind,),
            route=f"{kind} {field_name}",
            aliases=(alias,) if (alias := f"{kind}.{field_name}") != id else (),
            names={python: theirs for theirs, python in ours.items() if python != theirs},
            data=data,
        )

    def _selected(self, id: str, field: GraphQLField, data: Mapping[str, Any]) -> str:
        """The selection of a field without braces: the operator's, if it fits, else the default one."""
        type = get_named_type(field.type)
        if is_leaf_type(type):
            return ""
        if wanted := self._select.get(id):
            try:
                return checked(self._schema, data, data["types"], wanted)
            except BadSelection as error:
                self._warnings.append(f"select: {id}: {error}")
        found = self._selections.default(type)
        self._room -= len(found)
        if self._room < 0:
            raise _Unusable("the schema has too much to select altogether")
        return found

    def _skip(self, where: str, why: str) -> None:
        self._skipped.append(Skipped(where[:300], why[:500]))


class _Unusable(Exception):
    """Why a field becomes no function."""


def _usable(arguments: Mapping[str, GraphQLArgument], inputs: Inputs) -> Iterator[tuple[str, GraphQLArgument]]:
    """The arguments that can be given. Raises: _Unusable if one that cannot be is required."""
    for name, argument in arguments.items():
        if not inputs.takes_file(argument):
            yield name, argument
        elif is_required_argument(argument):
            raise _Unusable(f"{name!r} takes a file, which cannot be sent")


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, or with as many underscores behind it as it takes to be free."""
    while name in taken:
        name += "_"
    return name
