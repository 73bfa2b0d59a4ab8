"""A schema → functions."""

from __future__ import annotations

import json

import pytest
from doorward import ConfigError
from doorward_graphql import documents
from doorward_graphql.functions import compile_schema
from graphql import build_schema, introspection_from_schema

pytestmark = pytest.mark.anyio


async def test_graphql_kinds_of_functions(api, sdl):
    """Queries are read-only and may be repeated, mutations are not; a name that says so makes one destructive; a
    mutation that is named like a query gets another name."""
    shop = await api(sdl=sdl)
    book, also, gone = (shop.functions[name] for name in ("book", "mutation_book", "delete_book"))
    assert (book.read_only, book.idempotent, book.route, book.id) == (True, True, "query book", "book")
    assert (also.read_only, also.idempotent, also.route, also.id) == (False, False, "mutation book", "mutation.book")
    assert (gone.destructive, also.destructive, gone.id) == (True, False, "deleteBook")


async def test_graphql_what_is_skipped(api, sdl):
    """Subscriptions, and what needs a file, are skipped with a reason."""
    skipped = {each.where: each.why for each in (await api(sdl=sdl)).compiled.skipped}
    assert skipped.keys() == {"subscription added", "mutation cover"}
    assert "stream" in skipped["subscription added"]
    assert "file" in skipped["mutation cover"]


async def test_graphql_arguments(api, sdl):
    """Arguments have Python names, types, defaults; input objects may hold themselves, and need no file that is
    optional."""
    shop = await api(sdl=sdl)
    echo = shop.functions["echo"]
    assert echo.names == {"class_": "class", "in_": "in", "id": "_id"}
    assert [*echo.parameters["properties"]] == ["in_", "class_", "id", "select", "when"]
    assert echo.parameters["properties"]["when"] == {"type": "string", "format": "date-time"}
    everything = shop.compiled.definitions["Everything"]
    assert everything["properties"]["and"] == {"type": ["array", "null"], "items": {"$ref": "#/$defs/Everything"}}
    assert everything["properties"]["n"]["default"] == 5
    assert everything["properties"]["any"] == {"description": "Any"}
    assert "file" not in everything["properties"]
    assert shop.compiled.definitions["Range"]["maxProperties"] == 1
    assert shop.functions["books"].parameters["properties"]["sort"] == {"$ref": "#/$defs/Sort", "default": "TITLE"}
    assert shop.functions["old"].deprecated
    assert shop.functions["old"].description == "Deprecated: use today"
    assert shop.functions["old"].parameters["properties"]["worse"]["deprecated"] is True


async def test_graphql_select_has_a_free_name(api):
    """The argument that selects gives way to an argument of the field."""
    shop = await api(sdl="type Query { a(select: Int, select_: Int): Query2 } type Query2 { x: Int }")
    function = shop.functions["a"]
    properties, extra = function.parameters["properties"], function.data["select_argument"]
    assert [properties[name]["type"] for name in properties] == ["integer", "integer", "string"]
    assert [*properties][2] == extra


async def test_graphql_default_selections(api, sdl):
    """Scalars, and objects within, but nothing that needs arguments, is deprecated, comes in pages, leads back, or is
    where queries begin."""
    shop = await api(sdl=sdl)
    selected = {name: f.data.get("select") for name, f in shop.functions.items()}
    assert selected["book"] == "id title published author { id name }"
    assert selected["search"] == "__typename ... on Author { id name } ... on Book { id title published }"
    assert selected["node"].startswith("__typename id ... on Author { name }")
    assert "edges { cursor node { id title published author { id name } } } pageInfo {" in selected["books"]
    assert selected["add_review"] == "review { id stars text book { id title published } }"
    assert selected["home"] == "__typename"
    assert selected["today"] is None
    returns = shop.functions["book"].returns
    assert returns["type"] == ["object", "null"]
    assert returns["properties"]["title"] == {"type": "string", "description": "What stands on its cover"}
    flat = await api(sdl=sdl, depth=0)
    assert flat.functions["book"].data["select"] == "id title published"


async def test_graphql_large_types_are_selected_less_deeply(api):
    """A selection has at most 120 fields: where there are more, objects within are left out, then further fields."""
    many = " ".join(f"f{n}: Int" for n in range(100))
    shop = await api(
        sdl=f"type Query {{ a: A b: B }} type A {{ {many} b: B }} type B {{ {many} {many.replace('f', 'g')} }}"
    )
    assert len(shop.functions["a"].data["select"].split()) == 100
    assert len(shop.functions["b"].data["select"].split()) == 120


async def test_graphql_conflicting_fields_get_other_names(api):
    """Fields of one name and different types, of types that may stand for one, do not meet in an answer."""
    shop = await api(sdl="type Query { a: U } union U = A | B type A { x: Int } type B { x: String y: Int }")
    assert shop.functions["a"].data["select"] == "__typename ... on A { x } ... on B { x_B: x y }"
    assert [*shop.functions["a"].returns["properties"]] == ["__typename", "x", "x_B", "y"]


async def test_graphql_selections_of_the_operator(api, sdl):
    """A configured selection takes the place of the default one; one that does not fit is told, with a similar name."""
    shop = await api(sdl=sdl, select={"book": "{ title author { name } }", "half": "fine brken", "boks": "id"})
    assert shop.functions["book"].data["select"].split() == ["title", "author", "{", "name", "}"]
    assert shop.functions["half"].data["select"] == "fine broken"
    assert sorted(shop.compiled.warnings) == [
        "select: half: Cannot query field 'brken' on type 'Half'. Did you mean 'broken'?",
        "select: there is no 'boks'; did you mean 'books'?",
    ]


@pytest.mark.slow
async def test_graphql_schema_as_introspection(api, shop, tmp_path, sdl):
    """SDL, a stored introspection and the endpoint give the same functions."""
    import graphql

    stored = graphql.introspection_from_schema(graphql.build_schema(sdl))
    by_sdl = await api(sdl=sdl)
    for other in (await api(sdl=json.dumps(stored)), await api(sdl=json.dumps({"data": stored})), await api(shop)):
        assert other.functions.keys() == by_sdl.functions.keys()
        for name, function in other.functions.items():
            mine = by_sdl.functions[name]
            assert (function.parameters, function.returns, function.data) == (mine.parameters, mine.returns, mine.data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"type Query {", "Expected Name"),
        (b"{}", "no Query type"),
        (b"{ a }", "no GraphQL schema"),
        (b"type Mutation { a: Int }", "no Query type"),
        (b'{"__schema": {"types": 3}}', "no GraphQL schema"),
        (b'{"__schema": ', "no GraphQL schema"),
        (b"<html>", "no GraphQL schema"),
        (b"\xff\xfe", "no GraphQL schema"),
        (b"type Query { a: " + b"[" * 20_000 + b"Int" + b"]" * 20_000 + b"}", "nested too deeply"),
        (b'{"__schema": ' + b'{"a": ' * 20_000 + b"}" * 20_001, "no GraphQL schema"),
        (b"type Query { " + b"a: Int\n" * 17_000 + b"}", "tokens"),
        (b"type Query { a: Missing }", "Missing"),
    ],
)
async def test_graphql_what_is_no_schema(api, body, why, monkeypatch):
    """What is no schema is one error that names the place and says why."""
    monkeypatch.setattr(documents, "MAX_TOKENS", 50_000)  # parsed in a second, and not in four
    with pytest.raises(ConfigError, match=why):
        await api(sdl=body)


async def test_graphql_schema_missing_or_large(api, tmp_path):
    """A file that is not there, or too large, is an error of the configuration."""
    with pytest.raises(ConfigError, match="no such file"):
        await api(schema="nowhere.graphql")
    with (tmp_path / "big.graphql").open("wb") as file:
        file.truncate(33 * 2**20)
    with pytest.raises(ConfigError, match="more than 32 MiB"):
        await api(schema="big.graphql")


async def test_graphql_hostile_schemas(api):
    """Odd names, circles of inputs that nobody can give, and texts that are code, cost nothing but themselves."""
    shop = await api(
        sdl='''
        type Query {
          __proto__: Int
          constructor(__proto__: Int, self: Int, None: Int, import: String): Int
          loop(x: Loop): Int
          self: Self
          """\\u202e\\"\\"\\" import os; os.system('x')"""
          None: None
        }
        type None { a: Int @deprecated }
        type Self { self: Self }
        input Loop { loop: Loop! }
        '''
    )
    assert {"constructor", "loop", "self", "none"} <= {*shop.functions}
    assert all(name.isidentifier() for f in shop.functions.values() for name in f.parameters["properties"])
    assert shop.functions["none"].data["select"] == "__typename"
    assert shop.functions["self"].data["select"] == "__typename"


@pytest.mark.slow
async def test_graphql_types_that_hold_each_other(api):
    """Types that hold each other many times do not multiply a selection."""
    names = [f"T{n}" for n in range(60)]
    fields = " ".join(f"{name.lower()}: {name}" for name in names)
    types = " ".join(f"type {name} {{ id: ID {fields} }}" for name in names)
    shop = await api(sdl=f"type Query {{ {fields} }} {types}", depth=5)
    assert all(len(f.data.get("select", "").split()) < 400 for f in shop.functions.values())


WRONG = """type Query { good(id: ID): Item bad: Missing worse(x: Nope): Item odd: In }
type Item { id: ID name: Gone other: String }
input In { a: Int b: Lost }
union U = Item | Absent
type Impl implements Nowhere { id: ID }
type Mutation { pay(i: In!): Item broken(i: Item): Item }"""


async def test_graphql_a_wrong_field_loses_itself_alone(api):
    """What is wrong in a schema is skipped with its place and why, and the other functions of the server are there."""
    compiled = (await api(sdl=WRONG)).compiled
    assert [f.name for f in compiled.functions] == ["good", "pay"]
    skipped = {each.where: each.why for each in compiled.skipped}
    assert skipped["Query.bad"] == "the type 'Missing' is unknown"
    assert skipped["Query.odd"] == "the type 'In' cannot stand here"
    assert {"Query.worse.x", "Item.name", "In.b", "U", "Impl", "Mutation.broken.i"} <= skipped.keys()


def test_graphql_a_wrong_field_of_an_introspection_loses_itself_alone():
    """The same for an answer to introspection, in which anything may stand."""
    sdl = "type Query { good(e: E): Item bad: Item worse(x: ID): Item odd: Item n: Int } type Item { id: ID } enum E { A B }"
    told = json.loads(json.dumps(introspection_from_schema(build_schema(sdl))))
    types = {each["name"]: each for each in told["__schema"]["types"]}
    fields = types["Query"]["fields"]
    fields[1]["type"]["name"] = "Missing"
    fields[2]["args"][0]["type"] = {"kind": "OBJECT", "name": "Item", "ofType": None}
    fields[3]["name"], fields[4]["type"] = "a-b", None
    types["E"]["enumValues"][1]["name"] = "true"
    compiled = compile_schema("api", json.dumps(told), 2, {})
    assert [f.name for f in compiled.functions] == ["good"]
    assert {each.where for each in compiled.skipped} == {"Query.bad", "Query.worse.x", "Query.a-b", "Query.n", "E.true"}
