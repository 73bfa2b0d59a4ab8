"""Pages, items and replies of any source: what is made of what one says."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Call, Compiled, Function, InvalidArguments, Reply, Settings
from doorward.data.headers import MAX_HEADERS_BYTES, shown_headers
from doorward_program_helpers.next_page import following
from doorward_testing.samples import CONFIG, InProcess
from doorward_text.lists import at, items_of
from doorward_text.lists import declared_list as declared

pytestmark = pytest.mark.anyio
TAKES = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


class Source:
    """A source whose `list` has pages by links, whose `plain` answers a value and nothing else, and that keeps its
    calls."""

    Settings = Settings
    calls: list[Call]

    def __init__(self, server: Any) -> None: ...

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        return Compiled(
            [Function("s", name, parameters=TAKES, read_only=True) for name in ("list", "plain", "left", "large")]
        )

    async def call(self, call: Call) -> Any:
        type(self).calls.append(call)
        match call.function.name:
            case "list":
                page = int(call.link or 0)
                more = {"next": call.arguments, "link": str(page + 1)} if page < 2 else {}
                return Reply(
                    {"rows": [page], "also": [9]}, items=["rows"], status=200, headers={"ETag": str(page)}, **more
                )
            case "left":
                return Reply([1], left="its link leads elsewhere")
            case "large":
                return [*range(1000)]
        return {"items": [1, 2]}

    async def close(self) -> None: ...


@pytest.fixture
def gateway(host: Any) -> Any:
    Source.calls = []
    host.install("source", "s", Source)
    host.install("executor", "inprocess", InProcess)
    return host.gateway('executor = "inprocess"\ncache = "none"\nplugins = []\n[servers.s]\nsource = "s"\n')


async def test_a_source_gets_the_link_that_it_gave(gateway: Any) -> None:
    """With the arguments of the call; the first call has none."""
    async with gateway as gate:
        assert await gate.call("doorward.items", {"function": "s.list", "n": 3}) == [0, 1, 2]
    assert [(call.link, dict(call.arguments)) for call in Source.calls] == [
        ("", {"n": 3}),
        ("1", {"n": 3}),
        ("2", {"n": 3}),
    ]


async def test_no_program_gives_a_link(gateway: Any) -> None:
    """Whatever it calls its arguments."""
    async with gateway as gate:
        for helper in ("call", "pages", "items", "reply"):
            with pytest.raises(InvalidArguments):
                await gate.call(f"doorward.{helper}", {"function": "s.plain", "link": "9"})
        with pytest.raises(InvalidArguments):
            await gate.call("s.plain", {"link": "9"})
    assert Source.calls == []


async def test_what_is_left_is_a_note(gateway: Any) -> None:
    """Of the run, in the source's words."""
    async with gateway as gate:
        outcome = await gate.answer("doorward.pages", {"function": "s.left"})
    assert outcome.value == [[1]]
    assert outcome.notes == (
        "doorward.pages got 1 page of s.left; there is another that it did not get: its link leads elsewhere",
    )


@pytest.mark.slow
async def test_notes_are_few(gateway: Any) -> None:
    """However often there is something left: an agent reads each of them."""
    async with gateway as gate:
        same = await gate.execute("for n in range(100):\n    await doorward.pages('s.left')\nn")
        code = "for n in range(1, 100):\n    await doorward.items('s.large', most=n)\nn"
        others = await gate.execute(code)
    assert len(same.notes) == 1
    assert len(others.notes) == 20
    assert others.notes[-1] == "there is more to note, which is left out"


async def test_reply_of_a_source_that_says_no_more_than_a_value(gateway: Any) -> None:
    """As of MCP servers: there is no status, and there are no headers."""
    async with gateway as gate:
        assert await gate.call("doorward.reply", {"function": "s.plain"}) == {
            "value": {"items": [1, 2]},
            "status": None,
            "headers": {},
        }
        assert await gate.call("doorward.items", {"function": "s.plain"}) == [1, 2]
        assert (await gate.call("doorward.reply", {"function": "s.list"}))["headers"] == {"etag": "0"}


async def test_items_are_at_most_so_many(gateway: Any) -> None:
    """No page is got that is not needed; a note says that there is more."""
    async with gateway as gate:
        outcome = await gate.answer("doorward.items", {"function": "s.list", "most": 2})
        assert (outcome.value, len(Source.calls)) == ([0, 1], 2)
        assert "there are more (most=2)" in outcome.notes[0]
        assert not (await gate.answer("doorward.items", {"function": "s.list", "most": 3})).notes


@pytest.mark.parametrize(
    ("name", "route", "answer", "is_one"),
    [
        ("get_pet", "GET /pets/{petId}", {"id": 1, "name": "Rex", "tags": ["a"]}, True),
        ("get_pet", "", {"petId": 1, "tags": ["a"]}, True),
        ("get_pet", "", {"data": {"id": 1, "tags": ["a"]}}, True),
        ("get_person", "", {"data": {"id": 1, "attributes": {"roles": ["a"]}}}, True),
        ("get_city", "", {"id": 1, "country": "no", "tags": ["a"]}, True),
        ("get_order", "", {"id": 1, "total_price": 7, "next_step": "x", "lines": ["a"]}, True),
        ("get_order", "GET /orders/{id}", {"id": 1, "items": ["a"]}, None),
        ("get_book", "GET /books/{isbn}", {"title": "x", "genres": ["a"]}, None),
        ("get_book", "GET /books/{isbn}", {"title": "x", "results": ["a"]}, False),
        ("list_pets", "GET /pets", {"pets": ["a"]}, False),
        ("list_pets", "GET /pets", {"id": "of the request", "pets": ["a"]}, False),
        ("find", "", {"id": 7, "tags": ["a"], "total_count": 9}, False),
        ("find", "", {"jsonrpc": "2.0", "id": 7, "result": ["a"]}, None),
        ("find", "", {"took": 7, "orderId": 3, "rows": ["a"]}, False),
        ("list_pets", "GET /pets/{kind}", ["a"], False),
    ],
)
async def test_items_of_one_thing_are_refused_or_noted(
    host: Any, monkeypatch: pytest.MonkeyPatch, name: str, route: str, answer: Any, is_one: bool | None
) -> None:
    """A thing with an id has fields that are lists, and is no list itself; where that is not sure, a note says what was
    taken. What is called like the function, or stands beside what is said of pages, is meant."""

    async def compiled(_: Any) -> Compiled:
        return Compiled([Function("s", name, read_only=True, route=route)])

    monkeypatch.setattr(Tools, "compile", compiled)
    Tools.answers, Tools.calls = [answer], []
    host.install("source", "s", Tools)
    async with host.gateway('cache = "none"\nplugins = []\n[servers.s]\nsource = "s"\n') as gate:
        outcome = await gate.answer("doorward.items", {"function": f"s.{name}"})
    if is_one:
        assert outcome.error is not None
        assert "one thing, no list of them" in outcome.error.message
        assert "Call the function itself" in outcome.error.hint
    else:
        assert outcome.value == ["a"]
        assert ["doorward.items took" in note for note in outcome.notes] == ([] if is_one is False else [True])


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ({"a": [1], "b": [2]}, None),
        ({"data": {"rows": [1]}, "x": [], "y": []}, [1]),
        ({"a": {"b": [1]}, "c": {"d": [2]}}, None),
        ({"value": "text", "rows": [1]}, [1]),
        ({"messages": [{"body": "Hi"}], "next_page_uri": ""}, [{"body": "Hi"}]),
        ({"messages": [], "has_more": False}, []),
        ({"messages": ["It is late."], "state": "ok"}, None),
        ({"messages": [{"code": 1}], "rows": [1]}, [1]),
        ({"messages": [], "result": {"rows": [1]}}, [1]),
        ({"a": 1}, None),
        ("text", None),
        (None, None),
    ],
)
def test_items_of_a_value(value: Any, items: Any) -> None:
    """The list that is meant, or none where that is not clear."""
    assert items_of(value) == items


def test_a_value_without_end_ends() -> None:
    """However deep it is, and however often it is nested in itself."""
    deep: Any = [1]
    for _ in range(10_000):
        deep = {"data": deep}
    circle: dict[str, Any] = {}
    circle["data"] = circle
    assert items_of(deep) is None
    assert items_of(circle) is None


def test_the_list_to_which_keys_lead() -> None:
    """What is null or left out is empty; what is no list is none."""
    assert at({"a": {"b": [1]}}, ["a", "b"]) == [1]
    assert at({"a": None}, ["a", "b"]) == at({}, ["a"]) == []
    assert at({"a": "x"}, ["a"]) is None
    assert at([1], ["a"]) is None


@pytest.mark.parametrize(
    ("returns", "key"),
    [
        ({"$ref": "#/$defs/Page"}, ("rows",)),
        ({"allOf": [{"$ref": "#/$defs/Page"}, {"properties": {"n": {"type": "integer"}}}]}, ("rows",)),
        ({"properties": {"a": {"type": ["array", "null"]}, "errors": {"type": "array"}}}, ("a",)),
        ({"properties": {"a": {"items": {}}, "b": {"type": "array"}}}, ()),
        ({"type": "array"}, ()),
        (None, ()),
    ],
)
def test_the_only_list_of_a_schema(returns: Any, key: Any) -> None:
    """By references and parts, too."""
    definitions = {
        "Page": {"properties": {"rows": {"$ref": "#/$defs/Rows"}, "total": {"type": "integer"}}},
        "Rows": {"type": "array"},
    }
    assert declared(Function("s", "f", returns=returns), definitions.get) == key


def test_headers_that_are_shown() -> None:
    """Small letters; no more than there is room for, and what does not fit is left out whole."""
    headers = {"ETag": "1", "Big": "x" * MAX_HEADERS_BYTES, "Set-Cookie": "a=b", "X-Continuation-Token": "c"}
    assert shown_headers(headers) == {"etag": "1"}
    assert shown_headers({"X-Continuation-Token": "c", "Sync-Token": "s", "Token": "t"}) == {
        "x-continuation-token": "c",
        "sync-token": "s",
    }


class Tools:
    """A source that says nothing of pages, as MCP servers: `answers` by what the call was given."""

    Settings = Settings
    answers: list[Any]
    calls: list[dict[str, Any]]

    def __init__(self, server: Any) -> None: ...

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        properties = {
            "range": {"type": "string", "pattern": "^[A-Z0-9:]+$"},
            "page_number": {"type": "integer"},
            "note": {},
        }
        parameters = {"type": "object", "properties": properties, "additionalProperties": False}
        return Compiled(
            [Function("s", "get", parameters=parameters, destructive=True, names={"page_number": "pageNumber"})]
        )

    async def call(self, call: Call) -> Any:
        type(self).calls.append(dict(call.arguments))
        return self.answers[min(len(self.calls), len(self.answers)) - 1]

    async def close(self) -> None: ...


async def _got(
    host: Any, answers: list[Any], helper: str = "items", **given: Any
) -> tuple[Any, tuple[str, ...], list[dict[str, Any]]]:
    Tools.answers, Tools.calls = answers, []
    host.install("source", "s", Tools)
    async with host.gateway('cache = "none"\nplugins = []\n[servers.s]\nsource = "s"\n') as gate:
        outcome = await gate.answer(f"doorward.{helper}", {"function": "s.get", **given})
    assert outcome.ok, outcome.error
    return outcome.value, outcome.notes, Tools.calls


@pytest.mark.parametrize(
    ("told", "argument", "value"),
    [
        ({"next_range": "A3:B5"}, "range", "A3:B5"),
        ({"nextRange": "A3:B5", "has_more": True}, "range", "A3:B5"),
        ({"next_page_number": 2}, "page_number", 2),
        ({"nextPageNumber": "2"}, "page_number", 2),
    ],
)
async def test_what_an_answer_calls_next_is_the_next_value(host: Any, told: Any, argument: str, value: Any) -> None:
    """Of the parameter that is called so without `next`, as that takes it; the other arguments stay."""
    found, notes, calls = await _got(host, [{"values": [1], **told}, {"values": [2], "next_range": None}], note="x")
    assert (found, notes) == ([1, 2], ())
    assert calls == [{"note": "x"}, {"note": "x", argument: value}]


async def test_the_next_value_takes_the_place_of_the_given_one(host: Any) -> None:
    """By whichever of its names that was given."""
    _, _, calls = await _got(host, [{"values": [1], "next_page_number": 2}, {"values": [2]}], pageNumber=1)
    assert calls == [{"page_number": 1}, {"page_number": 2}]


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"next_range": "a/b"}, "next_range"),
        ({"next_range": {"a": 1}}, "next_range"),
        ({"next_range": "A1"}, "next_range"),
        ({"next_cursor": "abc"}, "next_cursor"),
        ({"next": "abc"}, "next"),
        ({"has_more": True}, "has_more"),
        ({"hasMore": True, "next_range": ""}, "hasMore"),
        ({"next_url": "x" * 9000}, "next_url"),
    ],
)
async def test_a_next_page_that_no_parameter_gets_is_a_note(host: Any, told: Any, named: str) -> None:
    """Also where its value does not fit the parameter, or is the one that was given."""
    found, notes, calls = await _got(host, [{"values": [1], **told}], range="A1")
    assert (found, len(calls)) == ([1], 1)
    assert len(notes) == 1
    assert named in notes[0]


@pytest.mark.parametrize(
    "answer",
    [
        {"values": [1], "next_range": "A3", "has_more": False},
        {"values": [1], "next_run": "tomorrow"},
        {"values": [1], "next": None, "has_more": False},
        {"values": [1], "more": "text"},
        {"values": [1], "\n": 1, "x" * 5000: 1},
        [1],
    ],
)
async def test_an_answer_without_a_next_page_has_no_note(host: Any, answer: Any) -> None:
    """Whatever else it says."""
    found, notes, calls = await _got(host, [answer])
    assert (found, notes, len(calls)) == ([1], (), 1)


async def test_answers_that_say_next_for_ever_end(host: Any) -> None:
    """With the first argument that comes twice."""
    answers = [{"values": [n], "next_range": "AB"[n % 2]} for n in range(9)]
    assert (await _got(host, answers))[0] == [0, 1, 2]


async def test_items_that_are_enough_say_that_there_are_more(host: Any) -> None:
    """Also where only the answer says so."""
    found, notes, calls = await _got(host, [{"values": [1, 2], "next_range": "A3"}], most=2)
    assert (found, len(calls), len(notes)) == ([1, 2], 1, 1)


@pytest.mark.parametrize(
    ("answer", "says", "advice"),
    [
        ("plain", "has no list; it is a str", "read its text"),
        ('{"a": [1]}', "it is text that holds JSON: json.loads reads it", "read its text"),
        ("[{'a': 1}]", "it is text that holds a Python literal", "read its text"),
        ({"a": 1}, "has no list; it is a dict with a", "gives the answers themselves"),
        (3, "has no list; it is an int", "gives the answers themselves"),
        ({"a": [1], "b": [2]}, "has several lists: a, b", 'in page["name"]'),
    ],
)
async def test_items_of_an_answer_without_a_list(host: Any, answer: Any, says: str, advice: str) -> None:
    """It is said what the answer is, and what to do with that."""
    Tools.answers, Tools.calls = [answer], []
    host.install("source", "s", Tools)
    async with host.gateway('cache = "none"\nplugins = []\n[servers.s]\nsource = "s"\n') as gate:
        with pytest.raises(InvalidArguments) as raised:
            await gate.call("doorward.items", {"function": "s.get"})
    assert says in str(raised.value)
    assert advice in str(raised.value.hint)


@pytest.mark.anyio
async def test_a_page_that_says_that_it_is_the_last(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no next one, though it names a cursor."""
    page = {"type": "object", "properties": {"cursor": {"type": "string"}}}
    function = Function("weather", "list", parameters=page, read_only=True)
    async with doorward_host.gateway(CONFIG) as gate:
        monkeypatch.setattr(gate.broker.functions, "find", lambda *_: function)
        for said, found in (({}, {"cursor": "b"}), ({"has_more": True}, {"cursor": "b"}), ({"has_more": False}, None)):
            answer = {"items": [1], "next_cursor": "b", **said}
            assert following(gate, "local", "weather.list", {}, answer) == (found, "")
