"""Arguments before they are sent: what an author reads of each mistake, and the handles of files."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import File, Function, InvalidArguments
from doorward.arguments.binding import bind
from doorward.arguments.files import opened
from doorward.calls.answers import read
from doorward.calls.artefact_store import MemoryArtefacts
from doorward.calls.artefacts import PREFIX, Artefacts
from doorward.model.errors import ApiError, ServerError, UnknownName
from doorward.secrets.redaction import NO_SECRETS
from doorward.secrets.scrubber import redact_error
from doorward.secrets.store import Secrets


class Definitions:
    """What `bind` asks of a catalog."""

    def __init__(self, **definitions: Any) -> None:
        self._definitions = definitions

    def definition(self, server: str, name: str) -> Any:
        return self._definitions.get(name)


CARD = {"type": "object", "required": ["kind", "number"], "properties": {
    "kind": {"const": "card"}, "number": {"type": "string"}, "holder": {"type": "object", "required": ["name"]}}}  # fmt: skip
BANK = {
    "type": "object",
    "required": ["kind", "iban"],
    "properties": {"kind": {"const": "bank"}, "iban": {"type": "string"}},
}
PARAMETERS = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 100},
        "state": {"enum": ["open", "closed", "all"]},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "title": {"type": "string", "minLength": 2, "maxLength": 5},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "items": {
            "type": "array",
            "items": {"type": "object", "required": ["sku"], "properties": {"qty": {"type": "integer"}}},
        },
        "since": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        "payment": {"anyOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Bank"}]},
        "level": {"const": 3},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]},
        "ratio": {"type": "number"},
        "size": {"anyOf": [{"enum": ["small", "large"]}, {"type": "integer"}]},
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "encoded": {"type": "string", "format": "byte", "maxLength": 4},
        "none": False,
    },
    "required": ["owner"],
    "additionalProperties": False,
}
FUNCTION = Function("shop", "buy", parameters=PARAMETERS)
CATALOG: Any = Definitions(Card=CARD, Bank=BANK)


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
        ({"items": [{"skus": 1}]}, "argument items[0]: needs 'sku'; did you mean 'sku'?"),
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
        ({"count": "x", "flag": "y", "level": 1, "ratio": "z"}, "; and 1 more"),
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
    catalog: Any = Definitions(Spec=spec, Container=inner, Port=port)

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
    catalog: Any = Definitions(Set=record)

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
    assert str(near) == "dns.create argument rrsets_body[0]: needs 'records'; did you mean 'records'?"
    assert str(near.hint).startswith("rrsets_body[0] is of the type Set:")
    assert "optional = " in str(error(rrsets_body=[{"name": "x"}]))  # the document may be wrong


def test_a_schema_that_is_wrong_disables_no_other_check() -> None:
    """A pattern of another dialect is left out, and the rest holds."""
    odd = {"type": "array", "items": {"type": "integer"}, "allOf": [{"pattern": "(?<!"}]}
    patterns = {
        "type": "object",
        "properties": {"n": odd, "pattern": {"type": "string"}},
        "additionalProperties": False,
    }
    function = Function("shop", "odd", parameters=patterns)
    assert bind(function, (), {"n": [1], "pattern": "("}, CATALOG) == {"n": [1], "pattern": "("}
    for wrong in ({"n": ["x"]}, {"pattern": 3}, {"m": 1}):
        with pytest.raises(InvalidArguments):
            bind(function, (), wrong, CATALOG)


@pytest.mark.parametrize(
    "broken", [{"properties": {"n": {"type": "numbre"}}}, {"type": 5}, {"properties": {"n": {"minimum": "1"}}}]
)
def test_arguments_that_cannot_be_checked_are_not_sent(broken: dict[str, Any]) -> None:
    """A schema that is none lets nothing through."""
    with pytest.raises(ServerError, match="cannot be read, so that its arguments cannot be checked"):
        bind(Function("shop", "broken", parameters={"type": "object", **broken}), (), {"n": 1}, CATALOG)


def test_nothing_fits_what_refers_to_nothing() -> None:
    """A definition that is not there allows no value; one that contains itself is checked as deeply as it can be."""
    dangling = Function("shop", "odd", parameters={"type": "object", "properties": {"n": {"$ref": "#/$defs/Nowhere"}}})
    with pytest.raises(InvalidArguments):
        bind(dangling, (), {"n": 1}, CATALOG)
    deep: Any = {"type": "integer"}
    for _ in range(400):
        deep = {"type": "object", "properties": {"n": deep}}
    with pytest.raises(InvalidArguments):
        bind(Function("shop", "deep", parameters=deep), (), {"n": {"n": 1}}, CATALOG)


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
    many: Any = Definitions(Card=CARD, Bank=BANK)
    alternatives = {
        "type": "object",
        "properties": {"x": {"anyOf": [{"type": "object", "required": [f"key{i}"]} for i in range(300)]}},
    }
    for value in ({}, "s" * 100_000, ["x"] * 10_000, {f"k{i}": i for i in range(1000)}):
        with pytest.raises(InvalidArguments) as raised:
            bind(Function("shop", "many", parameters=alternatives), (), {"x": value}, many)
        assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": 1.0},
        {"count": 100},
        {"maybe": None},
        {"since": None},
        {"since": 5},
        {"ratio": 1},
        {"ratio": 2**70},
        {"tags": []},
        {"tags": ("a", "b")},
        {"file": b"\xff"},
        {"file": "text"},
        {"file": {"artefact": f"{PREFIX}x", "type": "image/png", "bytes": 3, "name": "a.png"}},
        {"file": {"base64": "YQ==", "name": "a"}},
        {"file": {"content": b"\xff", "name": "a.bin", "type": "a/b"}},
        {"file": {"content": "text"}},
        {"files": [b"a", {"base64": "YQ=="}, "text"]},
        {"encoded": b"longer than four characters"},
        {"encoded": {"artefact": f"{PREFIX}x"}},
    ],
)
def test_what_the_schema_allows_is_allowed(arguments: dict[str, Any]) -> None:
    """Whole floats are integers, null is a value where the schema has it, and bytes may be given in each way."""
    value = bound(**arguments)
    name = next(iter(arguments))
    assert value[name] == (list(arguments[name]) if isinstance(arguments[name], tuple) else arguments[name])


def test_none_of_an_optional_parameter_is_left_out() -> None:
    """None where null is no value means that a parameter is not given; where null is a value, it is passed."""
    assert bound(count=None, payment=None, none=None, state=None, maybe=None, since=None) == {
        "owner": "a",
        "maybe": None,
        "since": None,
    }
    nulls = Function("shop", "change", parameters=PARAMETERS, sends_null=True)
    assert bind(nulls, (), {"owner": "a", "count": None}, CATALOG) == {"owner": "a", "count": None}
    with pytest.raises(InvalidArguments, match="argument owner: expected str, got None"):
        bind(nulls, (), {"owner": None}, CATALOG)
    with pytest.raises(InvalidArguments, match="has no parameter 'other'"):
        bound(other=None)


def test_nulls_inside_are_passed_on() -> None:
    """What an API has answered can be sent back, with nulls of which its document does not speak; other mistakes beside
    them are told."""
    names = Function("s", "f", parameters={"properties": {"names": {"additionalProperties": {"type": "string"}}}})
    assert bind(names, (), {"names": {"": None}}, CATALOG) == {"names": {"": None}}
    given = {
        "tags": ["a", None],
        "items": [{"sku": None, "qty": None}, None],
        "payment": {"kind": "card", "number": None, "holder": None},
    }
    assert bound(**given) == {"owner": "a", **given}
    many = Function("s", "f", parameters={"properties": {"x": {"type": "array", "items": {"type": "string"}}}})
    assert bind(many, (), {"x": [None] * 3000}, CATALOG) == {"x": [None] * 3000}
    for wrong, told in (
        ({"tags": [None, 1]}, "tags[1]: expected str, got int 1"),
        ({"items": [{"qty": None}]}, "items[0]: needs 'sku'"),
    ):
        with pytest.raises(InvalidArguments) as raised:
            bound(**wrong)
        assert str(raised.value).partition("; if the document")[0] == f"shop.buy argument {told}"


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


def test_big_integers_stay_exact() -> None:
    """An integer of more than 64 bits is checked and passed as one."""
    function = Function("s", "f", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
    assert bind(function, (), {"n": 2**70}, CATALOG) == {"n": 2**70}


def test_content_with_a_name_and_a_type_is_a_file() -> None:
    """Where the function takes bytes: alone or in a list. Anywhere else, and with other keys, it is a dictionary."""
    properties = {
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
    }
    function = Function(
        "s", "f", parameters={"type": "object", "properties": properties | {"note": {"type": "object"}}}
    )
    given = {"content": "ü", "name": "a.txt", "type": "text/plain"}
    arguments = {"file": given, "files": [{"content": b"\xff"}, "text"], "note": {"content": "x"}}
    found = opened(function, arguments, lambda uri: pytest.fail("nothing is opened"))
    assert found == {
        "file": File("ü".encode(), "text/plain", "a.txt"),
        "files": [File(b"\xff"), "text"],
        "note": {"content": "x"},
    }
    odd = {"content": "x", "more": 1}
    assert opened(function, {"file": odd}, lambda uri: File(b"")) == {"file": odd}


def test_answers_keep_big_integers() -> None:
    """What an API answers is to a program the number that it is, and no credential is overlooked in it."""
    secrets = Secrets(environ={})
    answer = {"n": [-12 * 10**40], "key": 918273645546372819203}
    assert read(answer, "s.f", 1000, secrets.redactor()).value == answer
    secrets.remember("918273645546372819203")
    assert read(answer, "s.f", 1000, secrets.redactor()).value == {**answer, "key": "[secret]"}


def test_errors_keep_big_integers() -> None:
    """So is a number in the body of an error."""
    error = ApiError("no", status=409, body={"limit": 2**70})
    redact_error(error, NO_SECRETS)
    assert error.body == {"limit": 2**70}


def test_artefacts_open_for_their_principal_only() -> None:
    """The whole of a result is opened by its URI, for whom it was kept."""
    kept = Artefacts(MemoryArtefacts(), most=1000, seconds=60)
    uri = kept.keep(b"\x00\xff", "image/png", "ann").uri
    assert kept.open(uri, "ann") == File(b"\x00\xff", "image/png")
    assert kept.open(f"{kept.keep('ü', 'text/plain', 'ann').uri}?offset=1", "ann") == File("ü".encode(), "text/plain")
    for wrong, principal in ((uri, "bob"), (f"{uri}x", "ann"), (PREFIX, "ann"), ("file:///etc/passwd", "ann")):
        with pytest.raises(UnknownName):
            kept.open(wrong, principal)


def test_what_is_not_known_yet_is_not_checked() -> None:
    """A plan checks the other arguments; an ordinary run takes nothing for unknown."""
    parameters = {
        "type": "object",
        "required": ["number", "title"],
        "properties": {"number": {"type": "integer"}, "title": {"type": "string"}},
    }
    function, unknown, catalog = (
        Function("api", "close", parameters=parameters),
        {"\0planned": [1, "number"]},
        Definitions(),
    )
    assert bind(function, (), {"number": unknown, "title": "a"}, catalog, plan=True) == {
        "number": unknown,
        "title": "a",
    }
    with pytest.raises(InvalidArguments, match="title"):
        bind(function, (), {"number": unknown, "title": 5}, catalog, plan=True)
    with pytest.raises(InvalidArguments, match="title"):
        bind(function, (), {"number": unknown}, catalog, plan=True)
    with pytest.raises(InvalidArguments, match="number"):
        bind(function, (), {"number": unknown, "title": "a"}, catalog)
