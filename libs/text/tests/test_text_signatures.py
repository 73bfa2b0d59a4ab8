"""What an agent reads: signatures, result types, cards and stubs, also from schemas that mean harm."""

from __future__ import annotations

import ast
import json
import time
from typing import Any

import pytest
from doorward.catalog.schemas import Definitions, parameter_names
from doorward.data.wording import clean
from doorward.model.functions import Function
from doorward.model.names import is_plain
from doorward_testing.any_schema import ANY, JSON, TEXT, check
from doorward_testing.hostile import HOSTILE
from doorward_text.cards import class_names, describe, describe_class
from doorward_text.examples import example_arguments
from doorward_text.signatures import MAX_CARD_CHARS, prose, response_type, signature, stub
from doorward_text.wording import literal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

USER = {"type": "object", "properties": {"login": {"type": "string"}, "manager": {"$ref": "#/$defs/user"}}}
ISSUE = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "caseType": {"type": ["string", "null"]},
        "user": {"$ref": "#/$defs/user"},
        "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "created_at": {"type": "string", "format": "date-time"},
    },
}
DEFINITIONS: dict[str, Any] = {"user": USER, "an-issue": ISSUE}
CREATE = Function(
    "github",
    "issues_create",
    id="issues/create",
    summary="Create an issue",
    description="Anyone may. See [the docs](https://example.com/a).\n\n> [!NOTE]\n> <p>Be kind &amp; brief.</p>",
    parameters={
        "type": "object",
        "properties": {
            "state": {"enum": ["open", "closed"], "default": "open", "description": "The state.\nSecond line"},
            "owner": {"type": "string"},
            "labels": {"type": ["array", "null"], "items": {"type": "string"}},
            "repo": {"type": "string"},
            "due": {"type": "string", "format": "date-time"},
        },
        "required": ["owner", "repo"],
    },
    returns={"$ref": "#/$defs/an-issue"},
    route="POST /repos/{owner}/{repo}/issues",
)


def returning(schema: Any) -> Function:
    return Function("api", "get_treatment_case_by_id", returns=schema)


def taking(schema: Any) -> Function:
    return Function("api", "f", parameters={"type": "object", "properties": {"x": schema}, "required": ["x"]})


def annotation(schema: Any) -> str:
    return response_type(returning(schema), DEFINITIONS.get, depth=0)[0]


def test_signature_puts_required_first() -> None:
    """Required parameters come first, defaults are shown, and what has none is `...`."""
    assert signature(CREATE, DEFINITIONS.get, width=400) == (
        'def issues_create(owner: str, repo: str, state: Literal["open", "closed"] = "open", '
        "labels: list[str] | None = ..., due: str = ...) -> IssuesCreateResponse"
    )


def test_long_signature_is_wrapped_with_comments() -> None:
    """Beyond the width each parameter has its line, with its description and format as a comment of one line."""
    text = signature(CREATE, DEFINITIONS.get, width=80)
    assert text.splitlines()[3] == '    state: Literal["open", "closed"] = "open",  # The state. Second line'
    assert text.splitlines()[5] == "    due: str = ...,  # date-time"
    check(f"{text}: ...")


def test_parameter_names_follow_the_signature() -> None:
    """Positional arguments are bound in the order that the signature shows."""
    assert parameter_names(CREATE, DEFINITIONS.get) == ["owner", "repo", "state", "labels", "due"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str"),
        ({"type": "number"}, "float"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "string", "nullable": True}, "str | None"),
        ({"const": 3}, "Literal[3]"),
        ({"enum": ["a", None, 'b"\n']}, 'Literal["a", "b\\"\\n"] | None'),
        ({"enum": [True, False]}, "bool"),
        ({"enum": [True]}, "Literal[True]"),
        ({"enum": [1.5, "a"]}, 'Literal["a"] | float'),
        ({"type": "string", "enum": [f"v{i}" for i in range(21)]}, "str"),
        ({"oneOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]}, 'Literal["a", "b"] | None'),
        ({"anyOf": [{"type": "string"}, {"enum": ["gpt"]}]}, "str"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "str | int"),
        ({"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "x"}]}, "str"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, "list[list[bool]]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "list[str | int]"),
        ({"items": {"type": "integer"}}, "list[int]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"allOf": [{"type": "string"}, {"description": "x"}]}, "str"),
        ({"type": "string", "format": "binary"}, "bytes"),
        ({}, "Any"),
        (True, "Any"),
        (False, "Any"),
        ({"type": "nonsense"}, "Any"),
        ({"$ref": "#/$defs/nothing"}, "Any"),
    ],
)
def test_annotations(schema: Any, expected: str) -> None:
    """Each form of JSON Schema has the annotation that a Python programmer would write."""
    assert annotation(schema) == expected


def test_long_enum_is_named_in_the_comment() -> None:
    """An enum of 10,000 values becomes its plain type; the comment shows the first values and counts the others."""
    text = signature(taking({"enum": [f"v{i}" for i in range(10_000)]}), DEFINITIONS.get, width=0)
    assert 'x: str,  # "v0", "v1"' in text
    assert "more" in text
    assert len(text) < 300


def test_result_is_a_typed_dict_with_original_names() -> None:
    """CONTRACT: SRC-09: the response schema becomes a TypedDict class, total=False, with the fields' own casing."""
    name, classes = response_type(returning({"$ref": "#/$defs/an-issue"}), DEFINITIONS.get)
    assert name == "GetTreatmentCaseByIdResponse"
    assert classes.splitlines()[:3] == [
        "class GetTreatmentCaseByIdResponse(TypedDict, total=False):",
        "    id: int",
        "    caseType: str | None",
    ]
    assert "    created_at: str  # date-time" in classes
    check(classes)


def test_nested_and_recursive_types_are_named_once() -> None:
    """Nested objects become classes named after their reference or field; a circle ends in its own name."""
    name, classes = response_type(returning({"type": "array", "items": {"$ref": "#/$defs/an-issue"}}), DEFINITIONS.get)
    assert name == "list[AnIssue]"
    assert "    user: User\n" in classes
    assert "    labels: list[AnIssueLabels]\n" in classes
    assert classes.count("class User(") == 1
    assert "    manager: User" in classes


def test_depth_ends_in_a_dictionary_with_its_keys() -> None:
    """Below the depth an object is a plain dict, and the comment tells its keys."""
    assert (
        "    user: dict[str, Any]  # keys of User: login, manager" in response_type(CREATE, DEFINITIONS.get, depth=1)[1]
    )


def test_without_schema_the_result_is_any() -> None:
    """CONTRACT: SRC-10: without a response schema the return type is Any, and there is no class."""
    assert response_type(returning(None), DEFINITIONS.get) == ("Any", "")
    assert signature(returning(None), DEFINITIONS.get).endswith("-> Any")


def test_keys_that_are_no_identifiers() -> None:
    """Keys that Python cannot write as names, keywords among them, make a TypedDict in functional form."""
    _, classes = response_type(
        returning({"properties": {"a-b": {"type": "string"}, "class": {}, '"\n': {}}}), DEFINITIONS.get
    )
    assert 'GetTreatmentCaseByIdResponse = TypedDict("GetTreatmentCaseByIdResponse", {' in classes
    assert '    "a-b": str,' in classes
    check(classes)


def test_budget_cuts_and_counts() -> None:
    """What does not fit the budget is counted and named; links go first."""
    fields: dict[str, Any] = {"self_url": {"type": "string"}, **{f"field_{i}": {"type": "string"} for i in range(200)}}
    _, classes = response_type(returning({"properties": fields}), DEFINITIONS.get, budget=200)
    assert len(classes) <= 800
    assert "    field_0: str\n" in classes
    assert "    self_url: str" not in classes
    shown = classes.count(": str")
    assert f"# … {201 - shown} more fields: field_{shown}," in classes


def test_parameter_objects_say_what_is_required() -> None:
    """An object among the parameters becomes a class below the signature; required fields come first, readOnly ones not
    at all."""
    body = {
        "properties": {
            "color": {"type": "string"},
            "name": {"type": "string", "description": "Its name."},
            "id": {"readOnly": True},
        },
        "required": ["name"],
    }
    card = describe(taking({"type": "array", "items": body}), DEFINITIONS.get, module="api")
    assert "    x: list[FX]," in card
    assert "class FX(TypedDict, total=False):\n    name: Required[str]  # Its name.\n    color: str\n" in card
    assert " id:" not in card


def test_card_stands_alone() -> None:
    """CONTRACT: DIS-03: the card has the import statement verbatim, signature, docs, effect, types and an example
    call."""
    card = check(describe(CREATE, DEFINITIONS.get, module="github"))
    assert card.startswith("from github import issues_create\n\ndef issues_create(\n    owner: str,\n")
    assert '"""Create an issue\n\n    Anyone may. See the docs. Be kind & brief.\n' in card
    assert "POST /repos/{owner}/{repo}/issues · issues/create · writes" in card
    assert "class IssuesCreateResponse(TypedDict, total=False):" in card
    assert card.endswith('\n\nresult = issues_create(owner="owner", repo="repo")')


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"read_only": True}, "read-only"),
        ({"destructive": True}, "destructive"),
        ({"deprecated": True}, "writes · DEPRECATED"),
    ],
)
def test_card_says_what_a_call_does(flags: dict[str, bool], expected: str) -> None:
    """The card marks reading, writing, destroying and deprecated functions."""
    assert f" · {expected}\n" in describe(Function("api", "f", route="GET /", **flags), DEFINITIONS.get, module="api")


def test_stub_is_lenient() -> None:
    """A stub's results are Any; plain mappings and sequences fit where a TypedDict or list is meant."""
    text = check(stub([CREATE, taking({"$ref": "#/$defs/user"})], DEFINITIONS.get))
    assert "state: Literal[" in text
    assert "labels: Sequence[str] | None = ...," in text
    assert "def f(x: User | Mapping[str, Any]) -> Any: ..." in text
    assert "class User(TypedDict, total=False):" in text


def test_stub_puts_odd_names_into_kwargs() -> None:
    """Parameters that are no identifiers become **kwargs, here and in the signature."""
    function = Function("api", "f", parameters={"properties": {"a-b": {}, "class": {}, "__debug__": {}, "ok": {}}})
    assert "def f(ok: Any = ..., **kwargs: Any) -> Any: ..." in check(stub([function], DEFINITIONS.get))
    assert "**kwargs: Any  # 3 more: a-b, class, __debug__" in signature(function, DEFINITIONS.get)


def example(schema: Any, definitions: Definitions) -> Any:
    """The value of a required argument of this schema; `None` if there is no example."""
    parameters = {"type": "object", "properties": {"string": schema}, "required": ["string"]}
    given = example_arguments(Function("api", "f", parameters=parameters), definitions)
    return given and given["string"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "example": "x"}, "x"),
        ({"type": "string", "examples": ["y"], "default": "z"}, "z"),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": ["null", "integer"], "minimum": 5}, 5),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "array", "items": {"type": "boolean"}}, [True]),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, 1),
        ({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "a"}),
        ({"type": "string", "example": "x" * 10_000}, "string"),
        ({"type": "null"}, None),
        ({}, "string"),
    ],
)
def test_examples(schema: Any, expected: Any) -> None:
    """Examples come from the schema's own values, else from its type, and are short."""
    assert example(schema, DEFINITIONS.get) == expected


def test_a_definition_is_looked_up_once_and_only_when_met() -> None:
    """References are resolved lazily and remembered: neither twice nor for what is not shown."""
    asked: list[str] = []
    schemas = {
        "a": {"properties": {"b": {"$ref": "#/$defs/b"}, "c": {"$ref": "#/$defs/b"}}},
        "b": {"properties": {"z": {"$ref": "#/$defs/z"}}},
    }

    def definitions(name: str) -> Any:
        asked.append(name)
        return schemas.get(name)

    response_type(returning({"$ref": "#/$defs/a"}), definitions, depth=1)
    assert asked == ["a", "b"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_specification_stays_text(text: str) -> None:
    """No string of a specification leaves its literal, comment or docstring: the statements stay the same."""
    schema = {
        "type": "object",
        "properties": {
            "x": {"enum": [text, "b"], "description": text, "default": text, "format": text},
            text: {"const": text},
        },
    }
    function = Function("api", "f", text, text, text, {**schema, "required": ["x"]}, schema, route=text)
    tree = ast.parse(check(describe(function, DEFINITIONS.get, module="api")))
    assert [type(node).__name__ for node in tree.body][:2] == ["ImportFrom", "FunctionDef"]
    assert {type(node).__name__ for node in tree.body[2:]} <= {"ClassDef", "Assign"}
    assert [type(node).__name__ for node in tree.body[1].body] == ["Expr"]  # type: ignore[attr-defined]
    check(stub([function], DEFINITIONS.get))


def nested(keyword: str, times: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(times):
        schema = {"type": "array", "items": schema} if keyword == "items" else {keyword: [schema, schema]}
    return schema


def circle(keyword: str) -> dict[str, Any]:
    return {f"n{i}": {keyword: [{"$ref": f"#/$defs/n{(i + j) % 30}"} for j in range(30)]} for i in range(30)}


BOMBS: dict[str, tuple[Any, dict[str, Any]]] = {
    "deep arrays": (nested("items", 10_000), {}),
    "deep allOf": (nested("allOf", 10_000), {}),
    "doubling anyOf": (nested("anyOf", 60), {}),
    "circle of allOf": ({"$ref": "#/$defs/n0"}, circle("allOf")),
    "circle of oneOf": ({"$ref": "#/$defs/n0"}, circle("oneOf")),
    "reference to itself": ({"$ref": "#/$defs/a"}, {"a": {"$ref": "#/$defs/a"}}),
    "megabyte strings": (
        {"type": "string", "description": "[<a" * 400_000, "default": "x" * 10**6, "format": "f" * 10**6},
        {},
    ),
    "megabyte keys": ({"type": "object", "properties": {"k" * 10**6: {}, "a": {"$ref": "#/$defs/" + "r" * 10**6}}}, {}),
    "many properties": (
        {"type": "object", "properties": {f"p{i}": {"enum": list(range(i % 50))} for i in range(20_000)}},
        {},
    ),
    "huge numbers": ({"enum": [10**5000, float("nan"), float("inf")], "default": 10**5000}, {}),
    "wrong types": (
        {"type": 3, "properties": [], "enum": {}, "allOf": "x", "anyOf": 7, "required": 1, "$ref": [], "items": 5},
        {},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_stay_small_and_fast(name: str) -> None:
    """Schemas made to explode end in short valid text within a moment."""
    schema, definitions = BOMBS[name]
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    function = Function("api", "f", parameters=parameters, returns=schema)
    started = time.process_time()
    card, text = check(describe(function, definitions.get, module="api")), check(stub([function], definitions.get))
    json.dumps(example(schema, definitions.get))
    assert (
        time.process_time() - started < 5
    )  # a bound of its kind, not a measure: unbounded, these take minutes, or never end
    assert len(card) <= MAX_CARD_CHARS + 500
    assert len(text) < 100_000


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(TEXT, ANY, max_size=4), ANY, st.fixed_dictionaries({"A": ANY, "B": ANY}), TEXT)
def test_any_schema_gives_valid_python(
    properties: dict[str, Any], returns: Any, definitions: dict[str, Any], text: str
) -> None:
    """Whatever the schemas are, every text is Python that compiles, of bounded size; nothing raises."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:2]}
    function = Function("api", text, text, text, text, parameters, returns, route=text)
    assert len(check(describe(function, definitions.get, module="api"))) < 2 * MAX_CARD_CHARS
    assert len(check(signature(function, definitions.get) + ": ...")) < 2 * MAX_CARD_CHARS
    check(response_type(function, definitions.get)[1])
    check(stub([function, function], definitions.get))
    assert all(map(is_plain, parameter_names(function, definitions.get)))
    json.dumps(example(returns, definitions.get))


@pytest.mark.slow
@given(JSON)
def test_literals_mean_their_value(value: Any) -> None:
    """A literal evaluates to the value it was made of, or there is none."""
    text = literal(value, 200)
    if text is not None:
        assert ast.literal_eval(text) == value
        assert len(text) <= 200
        assert text.isprintable()


@pytest.mark.slow
@given(st.text(), st.integers(1, 50))
def test_comments_are_one_short_printable_line(text: str, limit: int) -> None:
    """What goes into a comment has no line break, control character or text direction mark, and keeps its limit."""
    for line in (clean(text, limit), prose(text, limit)):
        assert len(line) <= limit
        assert line.isprintable()


@pytest.mark.slow
def test_the_rest_of_a_card_is_there_on_request() -> None:
    """A card says which classes it has cut, and each can be had in full: all fields, as sent and as received."""
    fields = {f"field_{i}": {"type": "string"} for i in range(150)}
    big = {
        "type": "object",
        "properties": {
            **fields,
            "secret": {"writeOnly": True},
            "made": {"readOnly": True},
            "inner": {"$ref": "#/$defs/Inner"},
        },
    }
    inner = {"type": "object", "properties": {"deep": {"$ref": "#/$defs/Deep"}}}
    definitions = {"Big": big, "Inner": inner, "Deep": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    returns = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Big"}, "b": {"$ref": "#/$defs/Inner"}}}
    one = Function(
        "s", "get_it", parameters={"type": "object", "properties": {"big": {"$ref": "#/$defs/Big"}}}, returns=returns
    )
    card = describe(one, definitions.get, module="s")
    assert '# In full: get_functions(["s.get_it#Big"])' in card
    text = describe_class(one, definitions.get, "Big")
    ast.parse(text)
    assert text.count("field_149: str") == 1
    sent, received = text.split("class Big(TypedDict, total=False):  # as received")
    assert ("secret:" in sent, "made:" in sent, "secret:" in received, "made:" in received) == (
        True,
        False,
        False,
        True,
    )
    assert "# as sent, all but secret" in received
    assert text.endswith('# In full: get_functions(["s.get_it#Deep"])')
    assert describe_class(one, definitions.get, "Deep") == "class Deep(TypedDict, total=False):\n    x: int"
    assert describe_class(one, definitions.get, "Nothing") is None
    assert {"Big", "Inner", "Deep", "GetItResponse"} <= set(class_names(one, definitions.get))
    small = Function("s", "small", parameters={"type": "object", "properties": {}}, returns={"$ref": "#/$defs/Deep"})
    assert "In full" not in describe(small, definitions.get, module="s")


@pytest.mark.slow
def test_parameters_that_a_card_leaves_out_are_there_on_request() -> None:
    """A card of very many parameters names those that it has no place for, and how to see the whole signature."""
    properties = {f"parameter_{i}": {"type": "string", "description": "word " * 30} for i in range(80)}
    taken = {"type": "object", "properties": properties, "required": ["parameter_79"]}
    one = Function(
        "s", "many", parameters=taken, returns={"type": "object", "properties": {f"field_{i}": {} for i in range(400)}}
    )
    card = describe(one, {}.get, module="s")
    ast.parse(card)
    assert len(card) <= MAX_CARD_CHARS
    assert "parameter_79: str," in card
    assert '# In full: get_functions(["s.many#parameters"])' in card
    full = describe_class(one, {}.get, "parameters")
    ast.parse(full)
    assert all(f"{name}: str" in full for name in properties)
