"""Arguments before they are sent: what an author reads of each mistake, and the handles of files."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import File, Function, InvalidArguments
from doorward.calls.answer_checks import read
from doorward.calls.artefacts import PREFIX, Artefacts
from doorward.calls.binding import bind
from doorward.calls.files import opened
from doorward.engines import MemoryStore
from doorward.model.errors import ApiError, ServerError, UnknownName
from doorward.secrets.redaction import NO_SECRETS
from doorward.secrets.scrubber import redact_error
from doorward.secrets.store import Secrets
from doorward_testing.parameters import BANK, CARD, FUNCTION, PARAMETERS, Definitions

CATALOG: Any = Definitions(Card=CARD, Bank=BANK)


def bound(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return bind(FUNCTION, args, {"owner": "a", **kwargs} if not args else kwargs, CATALOG)


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
    with pytest.raises(InvalidArguments, match="argument owner: "):
        bind(nulls, (), {"owner": None}, CATALOG)
    with pytest.raises(InvalidArguments, match="other"):
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
    for wrong, told in (({"tags": [None, 1]}, r"tags\[1\]"), ({"items": [{"qty": None}]}, "'?sku'?")):
        with pytest.raises(InvalidArguments, match=told):
            bound(**wrong)


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


@pytest.mark.anyio
async def test_artefacts_open_for_their_principal_only() -> None:
    """The whole of a result is opened by its URI, for whom it was kept."""
    kept = Artefacts(MemoryStore(), most=1000, seconds=60)
    uri = (await kept.keep(kept.made(b"\x00\xff", "image/png"), "ann")).uri
    assert await kept.open(uri, "ann") == File(b"\x00\xff", "image/png")
    text = await kept.keep(kept.made("ü", "text/plain"), "ann")
    assert await kept.open(f"{text.uri}?offset=1", "ann") == File("ü".encode(), "text/plain")
    for wrong, principal in ((uri, "bob"), (f"{uri}x", "ann"), (PREFIX, "ann"), ("file:///etc/passwd", "ann")):
        with pytest.raises(UnknownName):
            await kept.open(wrong, principal)


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
    assert bind(function, (), {"number": unknown, "title": "a"}, catalog, unknown=lambda value: value == unknown) == {
        "number": unknown,
        "title": "a",
    }
    with pytest.raises(InvalidArguments, match="title"):
        bind(function, (), {"number": unknown, "title": 5}, catalog, unknown=lambda value: value == unknown)
    with pytest.raises(InvalidArguments, match="title"):
        bind(function, (), {"number": unknown}, catalog, unknown=lambda value: value == unknown)
    with pytest.raises(InvalidArguments, match="number"):
        bind(function, (), {"number": unknown, "title": "a"}, catalog)


def test_what_is_wrong_is_told_plainly() -> None:
    """Without a plugin that writes more: the place and the checker's words, at most ten, of a bounded length; and the
    parameters with their types."""
    with pytest.raises(InvalidArguments) as raised:
        bound(count="7", tags=["a", 1])
    said = str(raised.value)
    assert all(part in said for part in ("shop.buy argument ", "argument count: ", "argument tags[1]: ", "integer"))
    assert "shop.buy(owner: string, count?: integer, " in str(raised.value.hint)
    with pytest.raises(InvalidArguments) as raised:
        bound(tags=[{"x": "y" * 1000}] * 20)
    assert len(str(raised.value)) < 4000
    with pytest.raises(InvalidArguments, match="two values for 'owner'"):
        bind(FUNCTION, ("a",), {"owner": "x"}, CATALOG)
