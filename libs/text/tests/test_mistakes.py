"""What an author reads of each mistake in arguments."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function, InvalidArguments
from doorward.calls.binding import bind
from doorward_testing.parameters import BANK, CARD, FUNCTION
from doorward_testing.parameters import Definitions as Given
from doorward_text.plugin import Written


def definitions_of(**definitions: Any) -> Any:
    return Given(Written(None), **definitions)


CATALOG: Any = definitions_of(Card=CARD, Bank=BANK)


def bound(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return bind(FUNCTION, args, {"owner": "a", **kwargs} if not args else kwargs, CATALOG)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"owner": 5}, "argument owner: expected str, got int 5"),
        ({"ownr": "x"}, "has no parameter 'ownr'; did you mean 'owner'?"),
        ({"ownr": "x", "flagg": 1}, "has no parameter 'ownr', 'flagg'; did you mean 'owner', 'flag'?"),
        ({"zzz": 1}, "has no parameter 'zzz'"),
        (
            {"state": "Opened"},
            "argument state: expected one of 'open', 'closed', 'all', got str 'Opened'; did you mean 'open'?",
        ),
        ({"code": "ab"}, "argument code: expected a str that matches ^[A-Z]{3}$, got str 'ab'"),
        ({"tags": ["a", 1]}, "argument tags[1]: expected str, got int 1"),
        ({"tags": "a"}, "argument tags: expected list, got str 'a'"),
        ({"items": [{"skus": 1}]}, "argument items[0]: needs 'sku'; did you mean that by 'skus'?"),
        ({"flags": "x", "flag": True}, "has no parameter 'flags'; did you mean 'flag'?"),
        ({"filee": 1}, "has no parameter 'filee'; did you mean 'file'?"),
        ({"ratio": ["x"]}, "argument ratio: expected float, got a list of 1"),
        ({"files": "x"}, "argument files: expected list, got str 'x'; did you mean 'file'?"),
        (
            {"items": [{"sku": 1}, {"qty": "2"}]},
            "argument items[1]: needs 'sku'; argument items[1].qty: expected int, got str '2'",
        ),
        ({"since": [1]}, "argument since: expected str | int | None, got a list of 1"),
        ({"payment": {"kind": "card", "number": 1}}, "argument payment.number: expected str, got int 1"),
        ({"payment": {"kind": "bank"}}, "argument payment: needs 'iban'"),
        ({"payment": {"kind": "card", "number": "1", "holder": {}}}, "argument payment.holder: needs 'name'"),
        (
            {"payment": {"kind": "cash", "number": "1"}},
            "argument payment.kind: expected one of 'card', 'bank', got str 'cash'",
        ),
        ({"payment": "cash"}, "argument payment: expected dict, got str 'cash'"),
        ({"owner": None}, "shop.buy argument owner: expected str, got None"),
        ({"count": True}, "argument count: expected int, got bool True"),
        ({"count": 1.5}, "argument count: expected int, got float 1.5"),
        ({"count": "7"}, "argument count: expected int, got str '7'"),
        ({"count": 0}, "argument count: 0 is less than the minimum of 1"),
        ({"title": "x"}, 'argument title: "x" is shorter than 2 characters'),
        ({"tags": list("abcd")}, 'argument tags: ["a","b","c","d"] has more than 3 items'),
        ({"level": 4}, "argument level: expected 3, got int 4"),
        ({"size": "medium"}, "argument size: expected one of 'small', 'large' or int, got str 'medium'"),
        ({"none": 1}, "argument none: int 1 is not allowed"),
        ({"file": 5}, "argument file: expected str | dict, got int 5"),
        ({"file": {"name": "x"}}, "argument file: needs 'content'"),
        ({"count": "x", "flag": "y", "level": 1, "ratio": "z"}, "argument ratio: expected"),
    ],
)
def test_mistakes_are_told(arguments: dict[str, Any], told: str) -> None:
    """A mistake is told by its place, what was expected and what was given; the hint is the right signature, or what is
    right there."""
    with pytest.raises(InvalidArguments) as raised:
        bound(**arguments)
    assert str(raised.value).startswith("shop.buy ")
    assert told in str(raised.value)
    right = next((name for name in ("items[0]", "items[1]", "payment.holder", "payment") if name in told), "")
    is_whole = any(name in arguments for name in ("zzz", "flagg", "none"))
    bare = "The right signature:\ndef buy(" if is_whole else "In the signature:\n    "
    assert str(raised.value.hint).startswith(f"{right} is of the type " if right else bare)


def test_a_nested_mistake_shows_the_class_that_is_wrong() -> None:
    """Not the whole signature: the innermost object around it with its fields, and how to ask for what is cut of it."""
    inner = {
        "type": "object",
        "required": ["image"],
        "properties": {"image": {"type": "string"}, "port": {"$ref": "#/$defs/Port"}},
    }
    port = {"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": False}
    spec = {"type": "object", "properties": {"containers": {"type": "array", "items": {"$ref": "#/$defs/Container"}}}}
    parameters = {"type": "object", "properties": {"spec": {"$ref": "#/$defs/Spec"}, "other": {"type": "string"}}}
    function = Function("k8s", "create", parameters=parameters)
    catalog: Any = definitions_of(Spec=spec, Container=inner, Port=port)

    def hint(**arguments: Any) -> str:
        with pytest.raises(InvalidArguments) as raised:
            bind(function, (), arguments, catalog)
        return str(raised.value.hint)

    missing = hint(spec={"containers": [{}]})
    assert missing.startswith(
        "spec.containers[0] is of the type Container:\nclass Container(TypedDict, total=False):\n    image: Required"
    )
    assert missing.endswith('# In full: get_functions(["k8s.create#Port"])')
    assert "other" not in missing
    assert hint(spec={"containers": [{"image": "x", "port": {"number": "8"}}]}).startswith(
        "spec.containers[0].port is of the type Port:"
    )
    both = hint(spec={"containers": [{}]}, other=5)
    assert both.index("In the signature:\n    other: str = ...,") < both.index("class Container(")
    with pytest.raises(InvalidArguments, match=r"argument spec.containers\[0\].port: has no field 'nmber'"):
        bind(function, (), {"spec": {"containers": [{"image": "x", "port": {"nmber": 8}}]}}, catalog)


def test_an_argument_that_another_parameter_takes_is_told() -> None:
    """Of two parameters that the API calls the same; only what is wrong of the signature is shown."""
    fields = {f"field_{i}": {"type": "string"} for i in range(30)}
    record = {
        "type": "object",
        "required": ["records"],
        "properties": {"records": {"type": "array"}, "name": {"type": "string"}},
    }
    sets = {"type": "array", "items": {"$ref": "#/$defs/Set"}}
    parameters: dict[str, Any] = {"type": "object", "additionalProperties": False}
    parameters |= {
        "properties": {"rrsets": {"type": "boolean"}, "rrsets_body": sets, **fields},
        "required": ["field_1"],
    }
    function = Function("dns", "create", parameters=parameters, names={"rrsets_body": "rrsets"})
    catalog: Any = definitions_of(Set=record)

    def error(**arguments: Any) -> InvalidArguments:
        with pytest.raises(InvalidArguments) as raised:
            bind(function, (), {"field_1": "x", **arguments}, catalog)
        return raised.value

    wrong = error(rrsets=[{"records": []}])
    assert str(wrong) == "dns.create argument rrsets: expected bool, got a list of 1; did you mean 'rrsets_body'?"
    assert wrong.hint == "In the signature:\n    rrsets: bool = ...,"
    assert "did you mean" not in str(error(rrsets=[{}]))  # none takes that
    assert "did you mean" not in str(error(rrsets=[{"records": []}], rrsets_body=[]))

    many = error(**{f"{name}{i}": i for i in range(15) for name in ("rrsets", "f")})
    assert "did you mean" in str(many)
    assert str(many.hint).startswith("The right signature:")

    near = error(rrsets_body=[{"record": [], "name": "x"}])
    assert str(near) == "dns.create argument rrsets_body[0]: needs 'records'; did you mean that by 'record'?"
    assert str(near.hint).startswith("rrsets_body[0] is of the type Set:")
    assert "optional = " in str(error(rrsets_body=[{"name": "x"}]))  # the document may be wrong


def test_what_tells_alternatives_apart_is_told_with_all_its_values() -> None:
    """Not only that of the alternative that fits best."""
    with pytest.raises(
        InvalidArguments, match=r"payment.kind: expected one of 'card', 'bank', got str 'bnk'; did you mean 'bank'"
    ):
        bound(payment={"kind": "bnk", "number": "1"})


def test_missing_arguments_are_told() -> None:
    """What is missing is told by name, beside what is wrong."""
    with pytest.raises(
        InvalidArguments,
        match=r"shop.buy has no parameter 'owners'; did you mean 'owner'\?; needs the argument 'owner'",
    ):
        bind(FUNCTION, (), {"owners": "x"}, CATALOG)
    with pytest.raises(InvalidArguments, match="two values for 'owner'"):
        bind(FUNCTION, ("a",), {"owner": "x"}, CATALOG)


@pytest.mark.slow
def test_messages_stay_short() -> None:
    """Alternatives, long values and long lists do not make long messages."""
    many: Any = definitions_of(Card=CARD, Bank=BANK)
    alternatives = {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": "object", "required": [f"key{i}"]} for i in range(300)]}},
    }
    for value in ({}, "s" * 100_000, ["x"] * 10_000, {f"k{i}": i for i in range(1000)}):
        with pytest.raises(InvalidArguments) as raised:
            bind(Function("shop", "many", parameters=alternatives), (), {"x": value}, many)
        assert len(str(raised.value)) < 400


def test_a_mistake_is_told_once() -> None:
    """What is missing is one sentence, and a wrong value of a list of values is told without its type."""
    state = {"type": "string", "enum": ["open", "closed"]}
    function = Function(
        "s", "f", parameters={"properties": {"state": state, "a": {}, "b": {}}, "required": ["state", "a", "b"]}
    )
    for given, told in (
        ({}, "needs the arguments 'state', 'a', 'b'"),
        ({"state": 5, "a": 1, "b": 1}, "argument state: expected one of 'open', 'closed', got int 5"),
    ):
        with pytest.raises(InvalidArguments) as raised:
            bind(function, (), given, CATALOG)
        assert str(raised.value).partition("; if the document")[0] == f"s.f {told}"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tags": [None, 1]}, "tags[1]: expected str, got int 1"),
        ({"items": [{"qty": None}]}, "items[0]: needs 'sku'"),
    ],
)
def test_nulls_beside_a_mistake_are_not_told(wrong: Any, told: str) -> None:
    """They may be what an API has answered."""
    with pytest.raises(InvalidArguments) as raised:
        bound(**wrong)
    assert str(raised.value).partition("; if the document")[0] == f"shop.buy argument {told}"


def test_none_of_a_required_parameter_is_told() -> None:
    """Where null is no value."""
    with pytest.raises(InvalidArguments, match="argument owner: expected str, got None"):
        bound(owner=None)
    with pytest.raises(InvalidArguments, match="has no parameter 'other'"):
        bound(other=None)
