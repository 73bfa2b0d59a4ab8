"""What a server asks and tells on its own account: elicitation and sampling, changes, and a listing that has faults."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from doorward import ServerError
from doorward_mcp_upstream.connections import connection
from doorward_mcp_upstream.upstream import Upstream

from .conftest import Listening, LoginPrompt, Upstreams, call_of, text_of

pytestmark = [pytest.mark.slow, pytest.mark.anyio]
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Hi."}, "model": "m", "stopReason": "endTurn"}
PLACES = ["stdio", "stdio-legacy", "http_modern", "http_legacy", "http_sse"]


@pytest.fixture(params=PLACES)
def made(request: pytest.FixtureRequest, upstreams: Upstreams) -> Any:
    """Makes an upstream of each kind."""
    place: str = request.param

    def make(**settings: Any) -> Upstream:
        if place.startswith("stdio"):
            return upstreams.sdk(era=place.partition("-")[2], **settings)
        server: Listening = request.getfixturevalue(place)
        return upstreams(url=server.url, **settings)

    return make


async def ask(upstream: Upstream, client: LoginPrompt | None, name: str = "ask") -> dict[str, Any]:
    return dict(await upstream.request("tools/call", {"name": name}, call=call_of(client)))


class Together(LoginPrompt):
    """Answers once so many have asked."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = await super().ask(method, params)
        while len(self.asked) < self.number:
            await asyncio.sleep(0.01)
        return answer


async def test_who_called_is_asked(made: Any) -> None:
    """In both eras, over every transport; what it takes to answer does not count as the call's time. Sampling is one of
    the questions where that is configured."""
    person = LoginPrompt(seconds=2.5)
    upstream = made(timeout=2, sampling=True)
    await upstream.listing()
    assert json.loads(text_of(await ask(upstream, person))) == {"action": "accept", "content": {"name": "Ann"}}
    [(method, params)] = person.asked
    assert method == "elicitation/create"
    assert params["message"] == "Who?"
    assert params["requestedSchema"]["properties"] == {"name": {"type": "string"}}
    model = LoginPrompt(SAMPLED)
    found = json.loads(text_of(await ask(upstream, model, "sample")))
    assert found["content"]["text"] == "Hi."
    assert [method for method, _ in model.asked] == ["sampling/createMessage"]


async def test_where_nobody_can_be_asked_it_is_declined(made: Any) -> None:
    """Sampling is refused, unless it is configured, and roots always: nobody is asked for either."""
    upstream = made()
    for client in (None, LoginPrompt(ServerError("cannot show forms"))):
        assert json.loads(text_of(await ask(upstream, client))) == {"action": "decline"}
    person = LoginPrompt(SAMPLED)
    for name in ("sample", "roots"):
        try:
            said = json.dumps(await ask(upstream, person, name))
        except ServerError as error:
            said = f"{error} {error.hint}"
        assert any(why in said for why in ("not told that we can do", "not supported"))
        assert ("sampling = true" in said) == ("sampling/createMessage" in said)
    assert person.asked == []


async def test_who_asks_for_too_much_at_once_gets_no_answer(upstreams: Upstreams) -> None:
    """In one multi-round-trip answer: nobody is asked any of it."""
    person = LoginPrompt()
    upstream = upstreams.sdk()
    params = {"name": "ask", "arguments": {"many": 24}}
    assert json.loads(text_of(await upstream.request("tools/call", params, call=call_of(person))))["action"] == "accept"
    assert len(person.asked) == 25
    params = {"name": "ask", "arguments": {"many": 25}}
    with pytest.raises(ServerError, match="it asked 26 questions at once"):
        await upstream.request("tools/call", params, call=call_of(person))
    assert len(person.asked) == 25


@pytest.mark.parametrize("place", ["stdio", "http_legacy"])
async def test_calls_of_several_clients_take_turns_once_it_was_unclear_whom_to_ask(
    upstreams: Upstreams, place: str, http_legacy: Listening
) -> None:
    upstream = upstreams.sdk(era="legacy") if place == "stdio" else upstreams(url=http_legacy.url)
    ann, bob = LoginPrompt(seconds=0.1), LoginPrompt({"action": "decline"}, seconds=0.1)
    await upstream.listing()

    async def both() -> list[Any]:
        return await asyncio.gather(ask(upstream, ann), ask(upstream, bob), return_exceptions=True)

    unclear = await both()
    assert any(isinstance(found, ServerError) and "several clients" in str(found) for found in unclear)
    ann.asked.clear()
    bob.asked.clear()
    first, second = await both()
    assert json.loads(text_of(first))["action"] == "accept"
    assert json.loads(text_of(second))["action"] == "decline"
    assert (len(ann.asked), len(bob.asked)) == (1, 1)
    cat = Together(5)
    answers = await asyncio.gather(*(ask(upstream, cat) for _ in range(5)))  # one client's go together
    assert {json.loads(text_of(answer))["action"] for answer in answers} == {"accept"}


async def test_a_change_of_the_tools_is_told(
    made: Any, upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    subscribed = []
    listen = connection.listen

    @contextlib.asynccontextmanager
    async def noted(*args: Any, **options: Any) -> AsyncIterator[Any]:
        async with listen(*args, **options) as events:
            subscribed.append(events)
            yield events

    monkeypatch.setattr(connection, "listen", noted)
    monkeypatch.setattr("doorward_mcp_upstream.upstream._DEBOUNCE_SECONDS", 1.0)
    upstream = made()
    before = await upstream.listing()
    assert await upstream.listing() is before
    await until(lambda: subscribed or before.era < "2026")
    for _ in range(2):
        await upstream.request("tools/call", {"name": "change"})
    await until(lambda: upstreams.changes)
    after = await upstream.listing()
    assert len(after.tools) == len(before.tools) + 2
    assert (upstreams.changes, upstream._telling) == (1, None)


async def test_one_bad_tool_loses_no_other(upstreams: Upstreams) -> None:
    listing = await upstreams.raw("bad").listing()
    assert [tool["name"] for tool in listing.tools] == ["fine", "no_schema", "no_type"]
    assert listing.tools[1]["inputSchema"] == {"type": "object"}
    assert listing.tools[2] == {
        "name": "no_type",
        "inputSchema": {"properties": {"a": {"type": "string"}}, "type": "object"},
    }
    assert [(s.where, s.why) for s in listing.skipped] == [
        ("list", "its inputSchema is of type 'array'; arguments are an object"),
        ("text", "its inputSchema is not an object"),
        ("page 1, tool 6", "has no name of at most 300 characters"),
        ("page 1, tool 7", "has no name of at most 300 characters"),
        ("page 1, tool 8", "is not an object"),
        ("fine", "another tool has the same name"),
    ]
    with pytest.raises(ServerError, match="without a list of tools"):
        await upstreams.raw("no list").listing()


async def test_pages_are_read_to_their_end_which_must_come(upstreams: Upstreams) -> None:
    pages = await upstreams.raw("pages").listing()
    assert [tool["name"] for tool in pages.tools] == ["t0", "t1", "t2", "t3", "t4"]
    assert not pages.skipped
    loop = await upstreams.raw("loop").listing()
    assert [tool["name"] for tool in loop.tools] == ["tNone", "tagain"]
    assert "read already" in loop.skipped[0].why
    endless = await upstreams.raw("endless").listing()
    assert len(endless.tools) == 10_000
    assert "more than 10000 tools" in endless.skipped[0].why
