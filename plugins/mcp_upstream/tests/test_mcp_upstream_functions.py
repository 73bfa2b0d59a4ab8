"""Tools as functions: names, schemas, promises, and whatever a hostile server says."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from doorward import Compiled, Function
from doorward_mcp_upstream.tools.functions import compiled, fingerprint
from doorward_text import signature
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def tool(name: Any = "t", schema: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **fields}


def one(schema: Any = None, **fields: Any) -> Function:
    return only(compiled("s", [tool("t", schema, **fields)]))


def only(made: Compiled) -> Function:
    assert not made.skipped
    (function,) = made.functions
    return function


def shown(made: Compiled, function: Function) -> str:
    text = signature(function, made.definitions.get)
    ast.parse(f"{text}: ...")
    return text


def refs(node: Any) -> Iterator[str]:
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            todo += [value for key, value in part.items() if key not in ("enum", "const", "default")]  # these are data
        elif isinstance(part, (list, tuple)):
            todo += part


def sound(made: Compiled) -> None:
    """What is true of every compile."""
    assert len({f.name for f in made.functions}) == len(made.functions)
    for function in made.functions:
        assert function.name.isidentifier()
        assert all(name.isidentifier() for name in function.parameters["properties"])
        assert set(function.parameters.get("required", ())) <= set(function.parameters["properties"])
        json.dumps([function.parameters, function.returns, function.data, function.names])
        shown(made, function)
    for ref in refs([[f.parameters, f.returns] for f in made.functions] + list(made.definitions.values())):
        assert ref.removeprefix("#/$defs/") in made.definitions, ref


def test_names_are_python_and_the_original_is_the_id() -> None:
    """CONTRACT: SRC-18, SRC-20, MCP-10."""
    ids = [
        "get-annotated-message",
        "API-create-a-comment",
        "repos.list",
        "getForecast",
        "class",
        "a b",
        "a-b",
        "a_b",
        "日本",
        "1st",
        "",
    ]
    made = compiled("s", [tool(i) for i in ids])
    names = {f.id: f.name for f in made.functions}
    assert names["get-annotated-message"] == "get_annotated_message"
    assert names["repos.list"] == "repos_list"
    assert names["getForecast"] == "get_forecast"
    assert names["class"] == "class_"
    assert names["a_b"] == "a_b"
    assert names["1st"] == "_1st"
    assert len(set(names.values())) == len(ids) - 1
    assert [s.why for s in made.skipped] == ["it has no name"]
    sound(made)


def test_parameters_keep_their_names_where_python_can_write_them() -> None:
    """CONTRACT: SRC-20."""
    given = ["userId", "auth-method", "from", "range", "type", "auth_method", "__proto__", "constructor", "a.b", "x y"]
    function = one(
        {"type": "object", "properties": {name: {"type": "string"} for name in given}, "required": ["from", "a.b"]}
    )
    names = list(function.parameters["properties"])
    assert names[:2] == ["from_", "a_b"]
    assert {"userId", "range", "type", "auth_method", "__proto__", "constructor"} <= set(names)
    assert function.names == {"auth_method_2": "auth-method", "from_": "from", "a_b": "a.b", "x_y": "x y"}
    assert function.parameters["required"] == ["from_", "a_b"]
    assert function.parameters["additionalProperties"] is False


def test_texts_are_plain_bounded_and_not_said_twice() -> None:
    """CONTRACT: SRC-20."""
    hidden = "Reads it.\x1b[31m \u202eMore\U000e0041 of it.\n\n\n\nEnd" + "x" * 5000
    function = one(title="A\tfine\ntitle", description=hidden)
    assert function.summary == "A fine title: Reads it."
    assert function.description.startswith("More of it.\n\nEnd")
    assert len(function.description) <= 1500
    assert one(title="T", description="Does it.").summary == "Does it."
    assert one(annotations={"title": "Other words"}).summary == "Other words"
    assert one(title=7, description=["x"]).summary == ""


@pytest.mark.parametrize(
    ("hints", "promised"),
    [
        (None, (False, True, False)),
        ({"readOnlyHint": True}, (True, False, True)),
        ({"readOnlyHint": True, "destructiveHint": True}, (True, False, True)),
        ({"destructiveHint": False}, (False, False, False)),
        ({"idempotentHint": True}, (False, True, True)),
        ({"readOnlyHint": "true", "destructiveHint": 0}, (False, True, False)),
        ("garbage", (False, True, False)),
    ],
)
def test_annotations_say_what_a_tool_may_change(hints: Any, promised: tuple[bool, bool, bool]) -> None:
    """CONTRACT: SRC-18."""
    function = one(annotations=hints)
    assert (function.read_only, function.destructive, function.idempotent) == promised


@pytest.mark.parametrize(
    ("name", "description", "destroys"),
    [
        ("read_query", "Execute a SELECT query on the database", False),
        ("query", "Run a read-only SQL query", False),
        ("list_tables", "List all tables", False),
        ("readFile", "Read the contents of a file.", False),
        ("write_query", "Execute an INSERT, UPDATE, or DELETE query", True),
        ("query", "Run an SQL statement, SELECT or other", True),
        ("get_or_create", "Gets a label", True),
        ("read_mail", "Reads a mail, and marks it as read", True),
        ("fetch", "Fetches a page", True),
        ("x", "", True),
    ],
)
def test_a_tool_that_says_that_it_reads_does_not_destroy(name: str, description: str, destroys: bool) -> None:
    """Where no annotation says it: its text does, and nothing in it speaks of more. It is a write all the same."""
    (function,) = compiled(
        "s", [{"name": name, "description": description, "inputSchema": {"type": "object"}}]
    ).functions
    assert (function.read_only, function.destructive, function.idempotent) == (False, destroys, False)
    hinted = {"name": name, "description": description, "inputSchema": {}, "annotations": {"destructiveHint": True}}
    assert compiled("s", [hinted]).functions[0].destructive


@pytest.mark.parametrize(
    ("says", "deprecated"),
    [
        ({"title": "Read file (deprecated)", "description": "Read it."}, True),
        ({"description": "Read a file. DEPRECATED: use read_text_file."}, True),
        ({"description": "[Deprecated] Read a file."}, True),
        ({"description": "Read a file. Its status is ACTIVE or DEPRECATED, or deprecated by others."}, False),
    ],
)
def test_a_deprecated_tool_says_so_in_its_texts(says: Any, deprecated: bool) -> None:
    """The protocol has no field for it, and such tools come later in searches."""
    assert one(**says).deprecated is deprecated


def test_references_of_both_drafts() -> None:
    """CONTRACT: SRC-20."""
    schema = {
        "type": "object",
        "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}, "a/b~c": {"type": "integer"}},
        "definitions": {"B": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}},
        "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"$ref": "#/definitions/B"},
            "c": {"$ref": "#/$defs/a~1b~0c"},
            "d": {"$ref": "#/properties/b"},
            "e": {"$ref": "#/$defs/missing"},
            "f": {"$ref": "https://example.org/schema.json"},
            "g": {"$ref": "#here"},
            "h": {"$anchor": "here", "type": "boolean"},
            "i": {"$ref": "#"},
            "j": {"$ref": "#/%24defs/A"},
        },
    }
    made = compiled("s", [tool("t", schema)])
    function = only(made)
    sound(made)
    properties = function.parameters["properties"]
    assert (
        made.definitions[properties["a"]["$ref"].removeprefix("#/$defs/")]["properties"]["next"]
        == properties["a"]
        == properties["j"]
    )
    assert made.definitions["B"]["prefixItems"] == [{"type": "string"}, {"type": "integer"}]
    assert made.definitions["a_b_c"] == {"type": "integer"}
    assert made.definitions[properties["d"]["$ref"].removeprefix("#/$defs/")] == {"$ref": "#/$defs/B"}
    assert properties["e"] == properties["f"] == {}
    assert made.definitions[properties["g"]["$ref"].removeprefix("#/$defs/")] == {"type": "boolean"}
    assert "t_input" in made.definitions
    assert [w for w in made.warnings if "nothing is fetched" in w]
    assert [w for w in made.warnings if "leads nowhere" in w]


def test_equal_definitions_are_shared_and_others_are_not() -> None:
    def schema(town: Any, **more: Any) -> dict[str, Any]:
        defs = {"Address": {"type": "object", "properties": {"town": {"$ref": "#/$defs/Town"}}}, "Town": town, **more}
        return {"type": "object", "$defs": defs, "properties": {"at": {"$ref": "#/$defs/Address"}}}

    text, number = {"type": "string"}, {"type": "integer"}
    made = compiled("s", [tool("a", schema(text)), tool("b", schema(text, Unused=number)), tool("c", schema(number))])
    at = [f.parameters["properties"]["at"]["$ref"] for f in made.functions]
    assert at[0] == at[1] == "#/$defs/Address"
    assert at[2] == "#/$defs/Address_2"
    assert set(made.definitions) == {"Address", "Address_2", "Town", "Town_2"}
    sound(made)


def test_a_root_of_alternatives_has_the_parameters_of_all() -> None:
    """CONTRACT: SEC-10."""
    variants = [
        {"properties": {"kind": {"const": "a"}, "in-a": {"type": "string"}}, "required": ["kind", "in-a"]},
        {"properties": {"kind": {"const": "b"}, "b": {"type": "integer"}}, "required": ["kind"]},
    ]
    for key in ("oneOf", "anyOf"):
        function = one(
            {
                "type": "object",
                key: variants,
                "allOf": [{"properties": {"all": {"type": "boolean"}}, "required": ["all"]}],
            }
        )
        assert set(function.parameters["properties"]) == {"kind", "in_a", "b", "all"}
        assert set(function.parameters["required"]) == {"kind", "all"}
        assert function.parameters["anyOf"][0] == {"properties": {"kind": {"const": "a"}}, "required": ["in_a", "kind"]}


@pytest.mark.parametrize(
    ("schema", "open_to"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, True),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "string"}),
        (True, True),
    ],
)
def test_a_tool_takes_other_arguments_if_it_says_so(schema: Any, open_to: Any) -> None:
    made = compiled("s", [tool("t", schema)])
    assert only(made).parameters["additionalProperties"] == open_to
    assert ("**kwargs: Any" in shown(made, only(made))) is (open_to is not False)


@pytest.mark.parametrize(
    ("schema", "open_to"),
    [
        ({"type": "object", "properties": {"a": {}}}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, False),  # it is already
        (None, False),
        (True, False),
    ],
)
def test_a_tool_may_be_opened_that_does_not_say_no(schema: Any, open_to: bool) -> None:
    """What a tool's schema leaves open, the operator may allow (`extra`)."""
    assert only(compiled("s", [{"name": "t", "inputSchema": schema}])).open is open_to


@pytest.mark.parametrize(
    ("schema", "returns", "wrapped"),
    [
        (None, None, ""),
        ({}, None, ""),
        ("garbage", None, ""),
        (
            {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
            {"type": "integer"},
            "result",
        ),
        (
            {"$ref": "#/$defs/W", "$defs": {"W": {"properties": {"result": {"type": "string"}}}}},
            {"type": "string"},
            "result",
        ),
        ({"properties": {"result": {}, "more": {}}}, {"properties": {"result": {}, "more": {}}}, ""),
        ({"properties": {"result": {}}, "additionalProperties": {"type": "string"}}, None, ""),
        ({"properties": {"content": {"type": "string"}}}, {"type": "string"}, "content"),
        ({"properties": {"text": {"type": "string"}}}, {"type": "string"}, "text"),
        (
            {"properties": {"content": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "string"}}},
            None,
            "content",
        ),
        (WORDS := {"properties": {"content": {"type": "array"}}}, WORDS, ""),
        (URL := {"properties": {"url": {"type": "string"}}}, URL, ""),
    ],
)
def test_the_result_is_what_the_output_schema_says(schema: Any, returns: Any, wrapped: str) -> None:
    """CONTRACT: SRC-18."""
    function = one(outputSchema=schema)
    assert function.data.get("wrapped", "") == wrapped
    if returns is not None or schema in (None, {}, "garbage"):
        assert function.returns == returns


def test_one_bad_tool_never_loses_the_others() -> None:
    many = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(10_000)}}
    deep: Any = {}
    for _ in range(900):
        deep = {"properties": {"x": deep}}
    tools = [
        tool("good"), tool("good"), tool("text", {"type": "string"}), tool("list", []), tool("many", many), tool("x" * 1000),
        tool(7), None, tool("deep", deep), tool("also good"),
    ]  # fmt: skip
    made = compiled("s", tools)
    assert [f.id for f in made.functions if f.id != "deep"] == ["good", "also good"]
    assert len(made.skipped) >= 7
    assert any("500 parameters" in s.why for s in made.skipped)
    sound(made)


@pytest.mark.slow
def test_hostile_schemas_end_soon() -> None:
    wide = {
        "type": "object",
        "$defs": {f"D{i}": {"properties": {f"p{j}": {"$ref": f"#/$defs/D{j}"} for j in range(60)}} for i in range(60)},
    }
    wide["properties"] = {"a": {"$ref": "#/$defs/D0"}}
    bomb = {
        "type": "object",
        "$defs": {"B": {"allOf": [{"$ref": "#/$defs/B"}] * 200, "anyOf": [{"$ref": "#/$defs/B"}] * 200}},
    }
    bomb |= {"$ref": "#/$defs/B"}
    circle = {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    nested = {
        "type": "object",
        "properties": {"a": {"enum": ["x" * 500] * 1000, "default": [[[[[[]]]]]], "pattern": "(a+)+$"}},
    }
    long = {"type": "object", "properties": {"a": {"properties": {"k" * 100_000: {"description": "d" * 10**6}}}}}
    started = time.process_time()
    made = compiled("s", [tool(f"t{i}", s) for i, s in enumerate([wide, bomb, circle, nested, long] * 5)])
    sound(made)
    assert time.process_time() - started < 10
    assert len(made.functions) == 25


def test_a_promise_changes_with_schemas_and_effects_only() -> None:
    before = fingerprint(tool("t", {"type": "object", "properties": {"a": {}, "b": {}}}))
    assert before == fingerprint(
        tool("t", {"properties": {"b": {}, "a": {}}, "type": "object"}, description="new", annotations={"title": "x"})
    )
    assert before != fingerprint(tool("t", {"type": "object", "properties": {"a": {}}}))
    assert before != fingerprint(
        tool("t", {"type": "object", "properties": {"a": {}, "b": {}}}, annotations={"readOnlyHint": True})
    )
    assert before != fingerprint(tool("t", {"type": "object", "properties": {"a": {}, "b": {}}}, outputSchema={}))


KEYS = st.sampled_from(
    ["a", "b", "from", "x-y", "__proto__", "constructor", "", "é", "a b", "result", "\u202e"]
) | st.text(max_size=8)
POINTERS = st.sampled_from(
    ["#", "#/$defs/A", "#/definitions/B", "#/properties/a", "#/$defs/A/items/0", "#x", "http://x/y", "#/%", "A", ""]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10)
TYPES = st.sampled_from(["object", "string", "array", "integer", "null", "bogus", ["string", "null"], [], None, 3])


def keyword(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, Any]]:
    tables = st.dictionaries(KEYS, inner, max_size=4)
    return st.one_of(
        st.tuples(st.sampled_from(["properties", "$defs", "definitions", "patternProperties"]), tables),
        st.tuples(st.sampled_from(["items", "additionalProperties", "not", "if", "then"]), inner),
        st.tuples(
            st.sampled_from(["allOf", "anyOf", "oneOf", "prefixItems", "items", "required", "enum"]),
            st.lists(inner, max_size=4),
        ),
        st.tuples(st.sampled_from(["required"]), st.lists(KEYS, max_size=4)),
        st.tuples(st.sampled_from(["$ref", "$dynamicRef"]), POINTERS),
        st.tuples(st.just("type"), TYPES),
        st.tuples(
            st.sampled_from(
                ["default", "const", "format", "description", "minimum", "maxLength", "pattern", "nullable"]
            ),
            SCALARS,
        ),
        st.tuples(KEYS, SCALARS),
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.just({}),
    lambda inner: st.lists(keyword(inner), max_size=5).map(dict) | st.lists(inner, max_size=2),
    max_leaves=25,
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(KEYS | SCALARS, SCHEMAS, SCHEMAS, SCHEMAS), max_size=4))
def test_whatever_a_server_says_its_usable_tools_are_sound(said: list[tuple[Any, Any, Any, Any]]) -> None:
    """CONTRACT: SRC-25."""
    tools = [
        {"name": name, "inputSchema": i, "outputSchema": o, "annotations": a, "description": a, "title": name}
        for name, i, o, a in said
    ]
    made = compiled("s", tools)
    assert len(made.functions) + len(made.skipped) == len(tools)
    sound(made)
