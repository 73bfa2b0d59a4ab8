"""Servers that mean harm by HTTP: what is secret goes nowhere else, and nobody else pays."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from doorward import DoorwardError, LimitExceeded, ServerError

from .conftest import LoginPrompt, Upstreams, call_of
from .test_mcp_upstream_http import JSON, Recorder, modern, tool

pytestmark = pytest.mark.anyio
EVENTS = {"Content-Type": "text/event-stream"}
CALL = {"name": "echo", "arguments": {}}


@pytest.fixture
def recorders() -> Iterator[list[Recorder]]:
    made = [Recorder(), Recorder()]
    for server in made:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    for server in made:
        server.shutdown()
        server.server_close()


def legacy(method: str, message: Any) -> Any:
    """A server of 2025-11-25 with a session."""
    if method != "POST":
        return 405, {}, b""
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "echo", "inputSchema": {}}]},
        "tools/call": {"content": [{"type": "text", "text": "hello"}]},
    }
    if "id" not in message:
        return 202, {}, b""
    found = results.get(message["method"])
    said = {"result": found} if found else {"error": {"code": -32601, "message": "no"}}
    return (
        200,
        {**JSON, "Mcp-Session-Id": "the-session"},
        json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode(),
    )


@pytest.mark.parametrize("then", [200, 404], ids=["answered", "refused, too"])
async def test_a_forgotten_session_ends_no_call_of_another(
    upstreams: Upstreams, recorders: list[Recorder], then: int
) -> None:
    """While a write is at the server, another call is told that its session is not known. What the write is answered
    counts: it is made again if it was refused, too, and only then."""
    home, _ = recorders
    arrived, other = threading.Event(), threading.Event()
    made: list[str] = []

    def answer(method: str, message: Any) -> Any:
        name = (message or {}).get("params", {}).get("arguments", {}).get("what")
        made.append(name)
        if name == "write" and made.count(name) == 1:
            arrived.set()
            other.wait(60)
            return legacy(method, message) if then == 200 else (404, {}, b"")
        return (404, {}, b"") if name == "read" and made.count(name) == 1 else legacy(method, message)

    home.answer = answer
    upstream = upstreams(url=home.url, transport="http")
    await upstream.listing()
    write = asyncio.create_task(tool(upstream, "echo", what="write"))
    await asyncio.to_thread(arrived.wait, 60)
    assert await tool(upstream, "echo", what="read") == "hello"
    other.set()
    assert await write == "hello"
    assert made.count("write") == (1 if then == 200 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("when", ["server/discover", "initialize", "tools/call", "GET", "DELETE"])
async def test_no_redirect_carries_anything_away(
    upstreams: Upstreams, recorders: list[Recorder], status: int, when: str
) -> None:
    """To another port, with credentials, headers of ours, or the session: whatever was asked, nothing arrives there."""
    home, thief = recorders

    def answer(method: str, message: Any) -> Any:
        if when in (method, (message or {}).get("method")):
            return status, {"Location": thief.url}, b""
        return (modern if when == "tools/call" and status < 307 else legacy)(method, message)

    home.answer = answer
    upstream = upstreams(auth=httpx2.BasicAuth("ann", "pw"), url=home.url, headers={"X-Key": "k"}, transport="http")
    with contextlib.suppress(ServerError):
        await tool(upstream, "echo")
    await asyncio.sleep(0.05)
    await upstream.close()
    assert thief.seen == []
    assert home.seen


@pytest.mark.parametrize(
    "place",
    [
        "{thief}",
        "//127.0.0.1:1/x",
        "http://ann:pw@{home}/x",
        "https://{home}/x",
        "ftp://{home}/x",
        "http://[::ffff:127.0.0.1]/x",
    ],
)
async def test_no_stream_sends_requests_elsewhere(upstreams: Upstreams, recorders: list[Recorder], place: str) -> None:
    """The older transport is told where to post."""
    home, thief = recorders
    there = place.format(thief=thief.url, home=home.url.split("/")[2])
    home.answer = lambda method, message: (200, EVENTS, f"event: endpoint\ndata: {there}\n\n".encode())
    with pytest.raises(ServerError, match="another origin"):
        await upstreams(auth=httpx2.BasicAuth("ann", "pw"), url=home.url, transport="sse").listing()
    assert thief.seen == []
    assert [method for method, *_ in home.seen] == ["GET"]


@pytest.mark.slow
async def test_a_bomb_is_not_unpacked_and_nobody_waits_for_it(upstreams: Upstreams, recorders: list[Recorder]) -> None:
    """65 KB that become 64 MiB and more."""
    home, _ = recorders
    bomb = gzip.compress(b"[" + b" " * 70 * 2**20, 9)
    packed = {**JSON, "Content-Encoding": "gzip"}
    home.answer = lambda method, m: (
        (200, packed, bomb) if (m or {}).get("method") == "tools/call" else modern(method, m)
    )
    upstream = upstreams(url=home.url)
    await upstream.listing()
    turns: list[float] = []
    call = asyncio.create_task(upstream.request("tools/call", CALL))
    while not call.done():
        turns.append(time.perf_counter())
        await asyncio.sleep(0.001)
    with pytest.raises(LimitExceeded, match="more than 64 MiB"):
        await call
    assert len(turns) > 20, "others had their turn"
    assert max((b - a for a, b in itertools.pairwise(turns)), default=0) < 1


@pytest.mark.parametrize("identity", [999_999, "1", None, True, 1.0, [1], {"a": 1}])
async def test_an_answer_to_something_else_is_none(
    upstreams: Upstreams, recorders: list[Recorder], identity: Any
) -> None:
    """On a stream of events; then comes the right one, twice."""
    home, _ = recorders

    def answer(method: str, message: Any) -> Any:
        if "method" not in message:  # our answer to its request
            return 202, {}, b""
        if message["method"] != "tools/call":
            return modern(method, message)
        wrong = {"jsonrpc": "2.0", "id": identity, "method": "notifications/none"}
        right = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"content": [{"type": "text", "text": "right"}], "resultType": "complete"},
        }
        said = "".join(f"data: {json.dumps(each)}\n\n" for each in (wrong, right, right))
        return 200, EVENTS, said.encode()

    home.answer = answer
    upstream = upstreams(url=home.url)
    with contextlib.suppress(ServerError):
        assert await tool(upstream, "echo") == "right"
    home.answer = lambda method, message: modern(method, message) if "method" in message else (202, {}, b"")
    assert await tool(upstream, "echo") == "hello"


async def test_no_failure_of_a_request_ends_the_session_of_others(
    upstreams: Upstreams, recorders: list[Recorder]
) -> None:
    """Neither an exception of any kind on the way, nor a redirect with a body that cannot be read, nor hanging up on
    our answer to a question."""
    home, _ = recorders
    begun, gate = threading.Event(), threading.Event()

    class Failing(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:  # type: ignore[override]
            if b'"fails"' in request.content:
                raise RuntimeError("of no kind that anybody expects")
            yield request

    def answer(method: str, message: Any) -> Any:
        if "method" not in message:
            return None
        match message.get("params", {}).get("name"):
            case "slow":
                begun.set()
                gate.wait(600)
            case "moved" if not home.seen[-1][1].endswith("/there"):
                return 307, {"Location": "/there", "Content-Encoding": "gzip"}, b"no gzip"
            case "asks":
                ask = {"jsonrpc": "2.0", "id": "q", "method": "ping"}
                right = json.loads(modern(method, message)[2])
                return 200, EVENTS, "".join(f"data: {json.dumps(each)}\n\n" for each in (ask, right)).encode()
        return modern(method, message)

    home.answer = answer
    upstream = upstreams(auth=Failing(), url=home.url)
    slow = asyncio.create_task(tool(upstream, "slow"))
    try:
        assert await asyncio.to_thread(begun.wait, 100)
        with pytest.raises(ServerError, match="of no kind that anybody expects"):
            await tool(upstream, "fails")
        for name in ("moved", "asks", "asks"):
            assert await tool(upstream, name) == "hello"
    finally:
        gate.set()
    assert await slow == "hello"


@pytest.mark.slow
async def test_ten_thousand_questions_are_not_asked(upstreams: Upstreams, recorders: list[Recorder]) -> None:
    """A person is asked 25 times within a call at the most; it ends all the same."""
    home, _ = recorders

    def answer(method: str, message: Any) -> Any:
        if "method" not in (message or {}) or "id" not in message:
            return 202, {}, b""
        if message["method"] != "tools/call":
            return legacy(method, message)
        asks = [
            {
                "jsonrpc": "2.0",
                "id": f"q{n}",
                "method": "elicitation/create",
                "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
            }
            for n in range(10_000)
        ]
        right = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "right"}]}}
        return 200, EVENTS, "".join(f"data: {json.dumps(each)}\n\n" for each in (*asks[:500], right)).encode()

    home.answer = answer
    person = LoginPrompt()
    await upstreams(url=home.url, transport="http", timeout=20).request("tools/call", CALL, call=call_of(person))
    assert len(person.asked) <= 25


@pytest.mark.slow
async def test_floods_of_retries_comments_and_ids_end_with_the_call(
    upstreams: Upstreams, recorders: list[Recorder]
) -> None:
    """`retry: 0`, comments, ids of a megabyte, and an end without an answer, over and over: bounded requests, then an
    error."""
    home, _ = recorders
    flood = (": comment\n" * 20_000 + "retry: 0\n\n" * 5_000 + f"id: {'x' * 2**20}\ndata:\n\n").encode()
    home.answer = lambda method, m: (
        modern(method, m) if (m or {}).get("method") in ("server/discover", "tools/list") else (200, EVENTS, flood)
    )
    upstream = upstreams(url=home.url, timeout=3)
    await upstream.listing()
    with pytest.raises(DoorwardError):
        await upstream.request("tools/call", CALL)
    assert len(home.seen) < 12


async def test_a_session_of_another_shape_is_not_sent_back(upstreams: Upstreams, recorders: list[Recorder]) -> None:
    """Header floods and ids of a megabyte end the connection, not the process."""
    home, _ = recorders

    def answer(method: str, message: Any) -> Any:
        status, headers, body = legacy(method, message)
        return status, {**headers, **{f"X-{n}": "y" * 2000 for n in range(100)}, "Mcp-Session-Id": "z" * 2**17}, body

    home.answer = answer
    with pytest.raises(ServerError):
        await upstreams(url=home.url, transport="http").listing()
