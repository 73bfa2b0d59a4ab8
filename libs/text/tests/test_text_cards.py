"""What a card has room for, and what it says of what it leaves out."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from doorward.model.functions import Function
from doorward_testing.any_schema import ANY, TEXT, check
from doorward_testing.cards import faults
from doorward_text.cards import class_names, describe, describe_class
from doorward_text.signatures import MAX_CARD_CHARS, parameter_lines
from doorward_text.unions import value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

STRING = {"type": "string"}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def record(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


def function(parameters: dict[str, Any], returns: Any = None) -> Function:
    return Function("api", "create_pod", parameters=parameters, returns=returns)


def described(function: Function, definitions: dict[str, Any]) -> str:
    card = check(describe(function, definitions.get, module="api"))
    assert faults(card) == []
    assert len(card) <= MAX_CARD_CHARS
    return card


MANY = {f"field_{i}": {"type": "string", "description": "Many words about this one field. " * 4} for i in range(40)}


def test_the_argument_comes_first() -> None:
    """The class of what must be given is whole, however many others come before it, and however large the result is."""
    definitions = {
        "Meta": record(**MANY),
        "Spec": record("containers", containers={"type": "array", "items": ref("Container")}, host=STRING),
        "Container": record("image", image=STRING, command=STRING),
        "Status": record(**MANY),
        "Pod": record(meta=ref("Meta"), spec=ref("Spec"), status=ref("Status"), log=ref("Status")),
    }
    parameters = record(meta=ref("Meta"), status=ref("Status"), spec=ref("Spec"))
    card = described(function(parameters, ref("Pod")), definitions)
    assert card.index("class Spec(") < card.index("class Container(")
    assert "containers: Required[list[Container]]" in card
    assert "image: Required[str]" in card


def test_a_body_comes_first() -> None:
    """A parameter that is the whole body gets its class before the filters around it."""
    definitions = {"Filter": record(**MANY), "Order": record(**{f"item_{i}": STRING for i in range(20)})}
    card = described(function(record(filter=ref("Filter"), body=ref("Order"))), definitions)
    assert all(f"    item_{i}: str" in card for i in range(20))


def test_nothing_is_told_twice() -> None:
    """A result does not repeat the fields of parameters, nor a class that is received as it is sent."""
    fields = {f"part_{i}": STRING for i in range(30)}
    definitions = {"Owner": record(name=STRING, mail=STRING)}
    parameters = record("id", id={"type": "integer"}, **fields, owner=ref("Owner"))
    returns = record(**fields, owner=ref("Owner"), made={"type": "string", "format": "date-time"})
    card = described(function(parameters, returns), definitions)
    assert card.count("part_7") == 1
    assert card.count("class Owner(") == 1
    assert (
        "class CreatePodResponse(TypedDict, total=False):\n    made: str  # date-time\n    # as the parameters, all "
        "but id\n" in card
    )


def test_what_is_received_otherwise_is_told_so() -> None:
    """A class with fields that are only received is there twice: what differs, and that the others are as sent."""
    pet = record(
        "name", name=STRING, race=STRING, tag=STRING, id={"type": "integer", "readOnly": True}, pin={"writeOnly": True}
    )
    card = described(function(record("body", body=ref("Pet")), {"type": "array", "items": ref("Pet")}), {"Pet": pet})
    assert "-> list[Pet]" in card
    assert "class Pet(TypedDict, total=False):  # as received\n    id: int\n    # as sent, all but pin" in card
    inside = describe_class(function(record("body", body=ref("Pet")), record(pet=ref("Pet"))), {"Pet": pet}.get, "Pet")
    assert inside is not None
    assert inside.count("race: str") == 1
    assert "as received" in inside


def test_a_description_that_is_cut_is_marked_and_can_be_had() -> None:
    """Whether it is cut after a sentence or a word, it ends in `…`; the whole signature has it all."""
    long = "First sentence of it all. " + "And more words follow here. " * 10 + "The end."
    about = Function("api", "f", description=long * 3, parameters=record(x=STRING | {"description": long}, y=ref("Y")))
    definitions = {"Y": record(z=STRING | {"description": long})}
    card = described(about, definitions)
    lines = [line for line in card.splitlines() if "sentence" in line]
    assert len(lines) == 3
    assert all(line.endswith("…") for line in lines)
    assert '# In full: get_functions(["api.f#parameters"])' in card
    whole = describe_class(about, definitions.get, "parameters")
    assert whole is not None
    ast.parse(whole)
    assert whole.count("The end.") == 5


def test_what_is_asked_for_has_whole_descriptions() -> None:
    """One description that the document itself, or its size, cuts does not take from the others; in many, each is
    shorter."""
    values = "MUST be added when updating. " + "One of many, as it is said here. " * 20 + "It is REPLACE or DELETE."
    definitions = {"Set": record(kind=STRING | {"description": values}, odd=STRING | {"description": "More " * 400})}
    one = function(record(body=ref("Set"), kind=STRING | {"description": values}))
    for part in ("Set", "parameters"):
        text = describe_class(one, definitions.get, part) or ""
        assert f"# {values}\n" in text
        assert len(text) < 6000
    many = {"Set": record(**{f"f{i}": STRING | {"description": values} for i in range(40)})}
    text = describe_class(one, many.get, "Set") or ""
    assert text.count("MUST be added") == 40
    assert len(text) < 10_000


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 100}, "int,  # 1 to 100"),
        ({"type": "integer", "minimum": 0}, "int,  # at least 0"),
        ({"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 5}, "float | None,  # at most 5, more than 0"),
        ({"type": "integer", "maximum": 2**31 - 1, "multipleOf": 5}, "int,  # a multiple of 5"),
        ({"type": "string", "pattern": "^[A-Z]{3}$", "description": "A code"}, "str,  # A code (matches ^[A-Z]{3}$)"),
        ({"type": "string", "maxLength": 1, "format": "uuid"}, "str,  # at most 1 character; uuid"),
        ({"type": "string", "minLength": 3, "maxLength": 3}, "str,  # 3 characters"),
        ({"type": "string", "pattern": "a" * 90}, "str,  # matches a long pattern"),
        (
            {"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 9}},
            "list[str],  # at least 1 item; at most 9 characters",
        ),
        ({"type": "string", "minLength": 0, "maxLength": True, "minimum": 3}, "str,"),
    ],
)
def test_limits_are_in_the_comment_of_a_parameter(schema: dict[str, Any], told: str) -> None:
    """Whatever the checks of a call refuse by a limit can be read before, in each language, and in the error."""
    taking, definitions = function(record("x", x=schema, y={"type": "boolean"})), dict[str, Any]()
    assert f"    x: {told}\n" in described(taking, definitions)
    comment = told.partition("  # ")[2]
    assert comment in describe(taking, definitions.get, module="api", language="typescript")
    inside = function(record("body", body=record("x", x=schema)))
    assert told.partition(",")[0] in described(inside, definitions)
    assert comment in described(inside, definitions)
    assert comment in "".join(parameter_lines(taking, definitions.get, ["x"]))


def test_limits_of_a_result_are_not_told() -> None:
    """They would only cost room: nobody has to keep to them."""
    card = described(function(record(), record(x={"type": "string", "maxLength": 9})), {})
    assert "characters" not in card


def test_the_first_and_required_are_described_before_others() -> None:
    """Where there is no room to say something of everything, it is said of the first ones, and of what is required."""
    about = "So is it said of this field alone."
    fields = {f"field_{i}": STRING | {"description": about} for i in range(60)}
    card = described(function(record("body", body=record("field_59", **fields))), {})
    lines = [line for line in card.splitlines() if line.startswith("    field_")]
    described_ones = [about[:20] in line for line in lines]
    assert "field_59: Required[str]" in lines[0]
    assert described_ones == sorted(described_ones, reverse=True)
    assert True in described_ones
    assert False in described_ones
    parameters = {f"field_{i}": STRING | {"description": about * 3} for i in range(50)}
    card = described(function(record("field_49", **parameters)), {})
    lines = [line for line in card.splitlines() if line.startswith("    field_")]
    described_ones = [about[:20] in line for line in lines]
    assert lines[0].startswith("    field_49: str,  #")
    assert described_ones == sorted(described_ones, reverse=True)


def test_limits_are_told_in_a_tight_card() -> None:
    """What a default cuts would not be missed: a parameter like that keeps the beginning of what is said of it."""
    about = "At most so many are listed. " + "And more words follow here. " * 5
    fields = {f"field_{i}": STRING | {"description": about} for i in range(55)}
    parameters = record(limit={"type": "integer", "default": 50, "description": about}, **fields, body=ref("Filter"))
    card = described(function(parameters), {"Filter": record(**MANY)})
    assert "    limit: int = 50,  # At most so many are listed. And more words follow here. …" in card
    assert card.count("At most so many") == 1


@pytest.mark.slow
def test_every_class_that_is_cut_can_be_asked_for() -> None:
    """Each class of which a card tells keys is named with what shows it, and so is what that leaves out."""
    definitions = {f"Kind{i}": record(**{f"{name}_{i}": about for name, about in MANY.items()}) for i in range(8)}
    one = function(record(**{f"p{i}": ref(f"Kind{i}") for i in range(8)}))
    card = described(one, definitions)
    assert "keys of Kind7: field_0_7, " in card
    for name in definitions:
        text = describe_class(one, definitions.get, name)
        assert text is not None
        assert all(f"{field}_{name[-1]}: str" in text for field in MANY)
    assert set(class_names(one, definitions.get)) == set(definitions)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(TEXT, ANY, max_size=4), ANY, st.fixed_dictionaries({"A": ANY, "B": ANY}))
def test_any_card_is_without_faults(properties: dict[str, Any], returns: Any, definitions: dict[str, Any]) -> None:
    """Whatever the schemas are: no name without its class or how to see it, nothing twice."""
    one = Function("api", "f", parameters={"type": "object", "properties": properties}, returns=returns)
    assert faults(describe(one, definitions.get, module="api")) == []
    for name in class_names(one, definitions.get):
        assert describe_class(one, definitions.get, name)


@pytest.mark.slow
def test_a_card_of_a_huge_function_is_tried_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document can make each try look at all that one may: what finds the best width ends soon, and the card is short
    all the same."""
    looked: list[int] = []

    def counted(value: Any, *dialect: Any) -> str:
        looked.append(1)
        return value_of(value, *dialect)

    monkeypatch.setattr("doorward_text.annotations.value_of", counted)
    values = {"type": "string", "enum": [f"v{m}" for m in range(50)]}
    many = {
        "anyOf": [
            {"type": "object", "properties": {f"q{j}_{k}": {"anyOf": [values] * 5} for k in range(40)}}
            for j in range(40)
        ]
    }
    function = Function("s", "f", parameters={"type": "object", "properties": {"x": many, "y": many}}, returns=many)
    card = describe(function, lambda name: None, module="s")
    assert len(looked) < 100_000
    assert len(card) < 3000
