"""Examples of calls: our own checks of a call take each of them."""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import Any

import pytest
from doorward.calls.binding import bind
from doorward.model.errors import InvalidArguments
from doorward.model.functions import Function
from doorward_testing.any_schema import ANY, check
from doorward_testing.parameters import Definitions
from doorward_text.cards import describe
from doorward_text.examples import example_arguments
from doorward_text.pattern_text import text_matching
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

REFERENCE = {
    "allOf": [
        {
            "type": "object",
            "properties": {
                "id": {"type": "string", "readOnly": True},
                "summary": {"type": "string", "readOnly": True},
                "type": {"type": "string"},
            },
        },
        {"type": "object", "required": ["id", "type"], "properties": {"type": {"enum": ["service_reference"]}}},
    ]
}
"""What is readOnly in one part and required in another."""

DEFINITIONS: dict[str, Any] = {
    "reference": REFERENCE,
    "node": {
        "type": "object",
        "required": ["children"],
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    },
}


def taking(schema: Any, name: str = "x") -> Function:
    return Function("api", "f", parameters={"type": "object", "properties": {name: schema}, "required": [name]})


def record(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": fields}


def called(function: Function) -> dict[str, Any]:
    """The arguments of the example on a card, as a program gives them."""
    line = describe(function, DEFINITIONS.get, module="api").splitlines()[-1]
    call = check(line) and ast.parse(line.removeprefix("result = "), mode="eval").body
    assert isinstance(call, ast.Call)
    given: dict[str, Any] = {}
    for word in call.keywords:
        value = ast.literal_eval(word.value)
        given |= value if word.arg is None else {word.arg: value}
    return given


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"$ref": "#/$defs/reference"}, {"type": "service_reference"}),
        (record("who", who={"$ref": "#/$defs/reference"}), {"who": {"type": "service_reference"}}),
        (record("key"), {"key": "key"}),
        ({"type": "string", "maxLength": 3}, "x"),
        (record("currency", currency={"type": "string", "maxLength": 3}), {"currency": "cur"}),
        ({"type": "string", "minLength": 4}, "xxxx"),
        ({"type": "string", "maxLength": 3, "examples": ["far too long"]}, "x"),
        ({"type": "integer", "examples": ["12"]}, 1),
        ({"type": "string", "default": 5}, "x"),
        ({"type": "string", "pattern": "^AC[0-9a-f]{4}$"}, "AC1111"),
        ({"type": "string", "pattern": "^[a-z]+$", "minLength": 3}, "xxx"),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"type": "string"}}, ["x", "x2"]),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["a", "b"]}}, ["a", "b"]),
        ({"type": "array", "maxItems": 0, "items": {"type": "string"}}, []),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"key0": 1}),
        ({"$ref": "#/$defs/node"}, {"children": [{"children": []}]}),
        ({"anyOf": [record("a", a={"enum": []}), record("b", b={"type": "boolean"})]}, {"b": True}),
        ({**record(a={"type": "integer"}), "anyOf": [{"required": ["a"]}]}, {"a": 1}),
        (
            record("a", a=record("b", b=record("c", c=record("d", d=record("e", e={"type": "boolean"}))))),
            {"a": {"b": {"c": {"d": {"e": True}}}}},
        ),
        ({"const": None}, None),
    ],
)
def test_an_example_fits_its_schema(schema: Any, expected: Any) -> None:
    """A value is within all limits, has every field that is required and may be given, and is plausible."""
    function = taking(schema)
    assert called(function) == {"x": expected}
    bind(function, (), called(function), Definitions(**DEFINITIONS))  # type: ignore[arg-type]


def test_a_field_that_only_the_server_gives_is_not_required() -> None:
    """Neither shown nor required, whichever part of the schema says what of it; what else is required stays so."""
    function, catalog = taking({"$ref": "#/$defs/reference"}), Definitions(**DEFINITIONS)
    card = describe(function, DEFINITIONS.get, module="api")
    assert "type: Required[" in card
    assert "    id:" not in card
    with pytest.raises(InvalidArguments, match="argument x"):
        bind(function, (), {"x": {}}, catalog)  # type: ignore[arg-type]


def test_a_required_field_that_nothing_describes_is_shown() -> None:
    """What is required is on the card: of any type."""
    assert "    key: Required[Any]" in describe(taking(record("key")), DEFINITIONS.get, module="api")


def test_a_name_that_is_no_word_is_in_the_example() -> None:
    """An example has every required argument, also those that a call can only unpack."""
    assert called(taking({"type": "string"}, "a-b")) == {"a-b": "a-b"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "string", "pattern": r"^(?=b)a$"},
        record(*(f"field{n}" for n in range(200)), **{f"field{n}": {"const": "x" * 50} for n in range(200)}),
    ],
)
def test_no_example_is_better_than_a_wrong_one(schema: Any) -> None:
    """Where no value fits, or none that is short, the card has no example, and no `...` in place of a value."""
    card = describe(taking(schema), DEFINITIONS.get, module="api")
    assert "result =" not in card
    assert example_arguments(taking(schema), DEFINITIONS.get) is None


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=ANY, name=st.sampled_from(["x", "a-b"]))
def test_any_example_passes(schema: Any, name: str) -> None:
    """Whatever a schema holds: an example that is given passes the checks."""
    function = taking(schema, name)
    found = example_arguments(function, partial(DEFINITIONS.get))
    if found is not None:
        bind(function, (), found, Definitions(**DEFINITIONS))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(0|[1-9][0-9]*)$",
        r"^[\w.-]+@[\w-]+\.\w{2,}$",
        r"arn:(aws[a-zA-Z-]*)?:lambda:[a-z]{2}((-gov)|(-iso(b?)))?-[a-z]+-\d{1}:\d{12}:csc-[a-z0-9]{17}",
        r"^(?!.*--)[^a-z\d]{2,}?(?:x|y)+$",
        r"^$|^[A-Z]{3}$",
        r"[]a\]\u0041-\x5A]+",
        r"^\+[1-9]\d{1,14}$",
    ],
)
def test_texts_that_match(pattern: str) -> None:
    """An expression of the usual kind gets a text that matches it."""
    for more in (0, 1):
        text = text_matching(pattern, more)
        assert text is not None
        assert re.search(pattern, text)


@pytest.mark.parametrize(
    "pattern", ["(" * 5000, "[", "[a-", "a{", "a**", r"\p{L}", r"(a)\1", "a{100000}", ")", "a{2,1"]
)
def test_expressions_that_are_not_understood(pattern: str) -> None:
    """They give no text, and no error."""
    assert text_matching(pattern) is None


@given(pattern=st.text(r"ab(){}[]^$|\d*+?.,:<>=!-1", max_size=25))
def test_any_expression_ends(pattern: str) -> None:
    """Whatever an expression holds, the text is short."""
    assert len(text_matching(pattern, 2) or "") <= 120


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties"])
def test_nonsense_beside_a_reference_breaks_no_card(keyword: str) -> None:
    """`allOf: false`, as a document may have it, is no list to which the schema of a reference is added."""
    parameters = {"type": "object", "properties": {"a": {keyword: False, "$ref": "#/$defs/reference"}}}
    function = Function("api", "f", "f", parameters=parameters)
    check(describe(function, {"reference": REFERENCE}.get, module="api"))
