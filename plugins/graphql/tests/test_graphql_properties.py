"""Properties, of random schemas: what is made of them fits them."""

from __future__ import annotations

import json
from typing import Any

import graphql
import jsonschema_rs
import pytest
from doorward_graphql.functions import compile_schema
from doorward_graphql.requests import document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

MANY = settings(deadline=None, suppress_health_check=list(HealthCheck))

OBJECTS, INTERFACES, UNIONS, INPUTS, ENUMS = (
    [f"{kind}{n}" for n in range(2)] for kind in ("Obj", "Face", "Uni", "In", "Enum")
)
SCALARS = ["Int", "Float", "String", "Boolean", "ID", "DateTime", "Odd"]
NAMES = [
    "id", "self", "class", "userId", "user_id", "select", "_a", "nodes", "pageInfo", "first", "after", "endCursor",
    "hasNextPage", "value_Obj0", "value",
]  # fmt: skip
NAME = st.sampled_from(NAMES[:3]) | st.sampled_from(NAMES)


def wrapped(names: list[str]) -> Any:
    """A type: a name, perhaps in lists, perhaps not null."""
    wraps = st.sampled_from(["{}", "{}!", "[{}]", "[{}!]", "[{}!]!", "[[{}]]"])
    return st.builds(lambda name, wrap: wrap.format(name), st.sampled_from(names), wraps)


ARGUMENT = st.builds(lambda type, name: (name, type), wrapped([*SCALARS, *ENUMS, *INPUTS]), NAME)
DEFAULTS = {"Int": "3", "String": '"\\"x"', "[Int]": "[1, null]", "Enum0": "RED", "Boolean": "true", "Float": "1"}


def arguments(given: list[tuple[str, str]]) -> str:
    each = {name: f"{name}: {type}" + (f" = {DEFAULTS[type]}" if type in DEFAULTS else "") for name, type in given}
    return f"({', '.join(each.values())})" if each else ""


FIELD = st.builds(
    lambda name, type, given, old: (name, f"{name}{arguments(given)}: {type}{' @deprecated' if old else ''}"),
    NAME,
    wrapped([*SCALARS, *ENUMS, *SCALARS, *OBJECTS, *INTERFACES, *UNIONS, "Query"]),
    st.lists(ARGUMENT, max_size=3) | st.just([]),
    st.integers(0, 9).map(lambda n: n == 0),
)
FIELDS = st.lists(FIELD, min_size=2, max_size=5).map(lambda found: list(dict(found).values()))
INPUT_FIELDS = st.lists(ARGUMENT, min_size=1, max_size=4).map(lambda found: list(dict(found).items()))


def input_text(name: str, fields: list[tuple[str, str]], one_of: bool) -> str:
    """An input object. Those that would need each other for ever cannot be given: GraphQL does not allow them."""
    told = [
        (each, type.rstrip("!") if one_of or (type.startswith("In") and type[2].isdigit()) else type)
        for each, type in fields
    ]
    body = " ".join(f"{each}: {type}" for each, type in told)
    return f"input {name}{' @oneOf' if one_of else ''} {{ plain: Int {body} }}"


@st.composite
def schemas(draw: Any) -> str:
    parts = ["scalar DateTime scalar Odd", *(f"enum {name} {{ RED GREEN }}" for name in ENUMS)]
    faces = {name: draw(FIELDS) for name in INTERFACES}
    parts += [f"interface {name} {{ {' '.join(fields)} }}" for name, fields in faces.items()]
    for name in OBJECTS:
        face = draw(st.sampled_from([*INTERFACES, None]))
        fields = {each.split("(")[0].split(":")[0]: each for each in draw(FIELDS)}
        fields |= {each.split("(")[0].split(":")[0]: each for each in faces.get(face, ())}
        parts.append(f"type {name}{f' implements {face}' if face else ''} {{ {' '.join(fields.values())} }}")
    for name in UNIONS:
        members = draw(st.lists(st.sampled_from(OBJECTS), min_size=1, unique=True))
        parts.append(f"union {name} = {' | '.join(members)}")
    parts += [input_text(name, draw(INPUT_FIELDS), draw(st.booleans())) for name in INPUTS]
    always = " ".join(f"get{name}: {name}" for name in [*INTERFACES, *UNIONS])
    parts += [f"type {root} {{ {' '.join(draw(FIELDS))} {always} }}" for root in ("Query", "Mutation")]
    return "\n".join(parts)


@MANY
@given(schemas(), st.integers(0, 4))
def test_graphql_every_document_fits_its_schema(text, depth):
    """What a function sends by default is valid by all rules of GraphQL, with all its arguments and with those that are
    required; nothing is skipped, and the schema of its result holds what was selected."""
    schema = graphql.build_schema(text)
    compiled = compile_schema("s", text, depth, {})
    assert compiled.skipped == []
    assert len(compiled.functions) == len(schema.query_type.fields) + len(schema.mutation_type.fields)
    for function in compiled.functions:
        json.dumps([function.parameters, function.returns, function.data])
        required = [function.names.get(name, name) for name in function.parameters["required"]]
        for given_ in (required, list(function.data["types"])):
            made = document(function.data, given_, function.data.get("select", ""))
            assert graphql.validate(schema, graphql.parse(made)) == [], made
        names = [*function.parameters["properties"]]
        assert all(name.isidentifier() for name in names)
        assert len(names) == len(function.data["types"]) + ("select" in function.data)


def values(schema: graphql.GraphQLSchema, type: Any, depth: int = 0) -> Any:
    """Values that GraphQL takes for an input type, in JSON."""
    if isinstance(type, graphql.GraphQLNonNull):
        inner = type.of_type
        if isinstance(inner, graphql.GraphQLList):
            return st.lists(values(schema, inner.of_type, depth + 1), max_size=2) if depth < 3 else st.just([])
        return named(schema, inner, depth)
    return st.none() | values(schema, graphql.GraphQLNonNull(type), depth) if depth < 4 else st.none()


def named(schema: graphql.GraphQLSchema, type: Any, depth: int) -> Any:
    if isinstance(type, graphql.GraphQLEnumType):
        return st.sampled_from(list(type.values))
    if isinstance(type, graphql.GraphQLInputObjectType):
        fields = {name: values(schema, field.type, depth + 1) for name, field in type.fields.items()}
        if type.is_one_of:
            exact = {
                name: values(schema, graphql.GraphQLNonNull(field.type), depth + 1)
                for name, field in type.fields.items()
                if depth < 4 or not graphql.is_input_object_type(graphql.get_named_type(field.type))
            }
            return (
                st.one_of(*(st.fixed_dictionaries({name: each}) for name, each in exact.items()))
                if exact
                else st.nothing()
            )
        needed = {name: fields[name] for name, field in type.fields.items() if graphql.is_required_input_field(field)}
        return st.fixed_dictionaries(
            needed, optional={name: each for name, each in fields.items() if name not in needed}
        )
    integers = st.integers(-(2**31), 2**31 - 1)
    return {
        "Int": integers,
        "Float": st.floats(allow_nan=False, allow_infinity=False) | integers,
        "String": st.text(max_size=5),
        "Boolean": st.booleans(),
        "ID": st.text(max_size=5) | integers,
        "DateTime": st.just("2026-11-22T00:00:00Z"),
    }.get(type.name, st.booleans() | integers | st.text(max_size=5))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["RED", "x", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAME, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@MANY
@given(schemas(), st.data())
def test_graphql_arguments_are_what_the_server_takes(text, data):
    """The JSON Schema of an argument takes each value that a server takes for it, and a server takes what it takes."""
    schema = graphql.build_schema(text)
    compiled = compile_schema("s", text, 1, {})
    definitions = {name: each for name, each in compiled.definitions.items() if " " not in name}
    candidates = [f for f in compiled.functions if f.data["types"]]
    for function in candidates[:3]:
        root = schema.query_type if function.data["kind"] == "query" else schema.mutation_type
        arguments = root.fields[function.data["field"]].args
        ours = {function.names.get(name, name): name for name in function.parameters["properties"]}
        validator = jsonschema_rs.Draft202012Validator(
            {**function.parameters, "$defs": definitions}, validate_formats=False
        )
        taken = {name: values(schema, each.type) for name, each in arguments.items()}
        needed = {name: each for name, each in taken.items() if ours[name] in function.parameters["required"]}
        optional = {name: each for name, each in taken.items() if name not in needed}
        if any(each.is_empty for each in needed.values()):
            continue
        good = data.draw(st.fixed_dictionaries(needed, optional=optional))
        if function.read_only:  # None means there that it is left out
            good = {name: value for name, value in good.items() if value is not None}
        validator.validate({ours[name]: value for name, value in good.items()})
        other = data.draw(st.dictionaries(st.sampled_from([*arguments]), ANY_JSON, max_size=3))
        for given_ in (good, other):
            if not validator.is_valid({ours[name]: value for name, value in given_.items()}):
                continue
            operation = graphql.parse(document(function.data, list(given_), function.data.get("select", "")))
            variables = operation.definitions[0].variable_definitions or ()
            result = graphql.get_variable_values(schema, variables, given_)
            assert not isinstance(result, list), (given_, result)
