"""Streams of events from servers that mean harm: each ends with its call, and none takes the event loop from others.
Measured by what is read and by turns of the loop, not by time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from doorward import ServerError
from doorward_mcp_upstream.connections import connection, flow, http
from doorward_mcp_upstream.connections.flow import Flow, StreamFlow
from doorward_mcp_upstream.connections.large_messages import LargeMessages
from httpx2 import SSEError

from .conftest import LoginPrompt, Upstreams, call_of
from .test_mcp_upstream_http import JSON, Recorder, modern, tool
from .test_mcp_upstream_http_hostile import CALL, EVENTS, legacy

pytestmark = pytest.mark.anyio
NOTICE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


def in_events(*messages: Any) -> bytes:
    return "".join(f"data: {json.dumps(each)}\n\n" for each in messages).encode()


def right(message: Any) -> Any:
    result = {"content": [{"type": "text", "text": "right"}], "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Endless:
    """A server whose answer to `tools/call` never ends: without its head, silent, or with events for ever. `gone` is
    set when the client has closed the connection of that call."""

    def __init__(self, era: Any, kind: str) -> None:
        self.era, self.kind = era, kind
        self.called, self.gone = asyncio.Event(), asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called = False
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                size = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
                message = json.loads(await reader.readexactly(size) or b"null")
                if (message or {}).get("method") == "tools/call":
                    break
                method = head.split()[0].upper()
                status, headers, body = self.era(method, message) if "id" in (message or {}) else (202, {}, b"")
                lines = [f"HTTP/1.1 {status} X", *(f"{k}: {v}" for k, v in headers.items())]
                writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}\r\n\r\n"]).encode() + body)
            called = True
            self.called.set()
            if self.kind != "no head":
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
            ended = asyncio.gather(reader.read(), return_exceptions=True)
            while not ended.done():
                if self.kind == "events":
                    writer.write(b"1\r\n:\r\n" * 100 + b"%x\r\n%s\r\n" % (len(in_events(NOTICE)), in_events(NOTICE)))
                    await writer.drain()
                await asyncio.wait([ended], timeout=0 if self.kind == "events" else None)
        if called:
            self.gone.set()
        writer.close()


@pytest.mark.parametrize("era", [modern, legacy])
@pytest.mark.parametrize("kind", ["no head", "silent", "events"])
@pytest.mark.parametrize("end", ["time", "cancelled"])
async def test_what_a_call_opened_ends_with_it(upstreams: Upstreams, era: Any, kind: str, end: str) -> None:
    """Whether its time is over or it is cancelled, its connection is closed, in both eras."""
    endless = Endless(era, kind)
    async with await asyncio.start_server(endless, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        upstream = upstreams(url=url, transport="http", timeout=0.5 if end == "time" else 3600)
        await upstream.listing()
        call = asyncio.create_task(upstream.request("tools/call", CALL))
        await asyncio.wait_for(endless.called.wait(), 100)
        if end == "cancelled":
            call.cancel()
        with pytest.raises((ServerError, asyncio.CancelledError)):
            await call
        await asyncio.wait_for(endless.gone.wait(), 100)
        await upstream.close()


@pytest.fixture
def one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is read is read within the same second, and few parts are a flood."""

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(flow, "monotonic", lambda: 0.0)
    monkeypatch.setattr(flow, "sleep", sleep)
    monkeypatch.setattr(flow, "BURST_PARTS", 100)
    monkeypatch.setattr(flow, "MAX_FLOOD_PARTS", 1000)


@pytest.mark.usefixtures("one_moment")
@pytest.mark.parametrize(("transport", "kind"), [("http", "events"), ("http", "json"), ("sse", "events")])
async def test_a_flood_is_ended(
    upstreams: Upstreams, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, transport: str, kind: str
) -> None:
    """Of a server that sends more than is read a second, on and on, the stream is ended; the bound is named."""
    events = in_events(*[NOTICE] * 1000)
    endpoint = b"event: endpoint\ndata: /mcp\n\n"

    def answer(method: str, message: Any) -> Any:
        if transport == "sse":
            return (200, EVENTS, endpoint + events) if method == "GET" else (202, {}, b"")
        if (message or {}).get("method") == "tools/call":
            monkeypatch.setattr(flow, "MAX_FLOOD_PARTS", 200)
            return (200, EVENTS, events) if kind == "events" else (200, JSON, b" " * 32 * 2**20)
        return legacy(method, message)

    recorder.answer = answer
    with pytest.raises(ServerError, match=r"it sent more than 250 events or 1,000 pieces of 64 KiB a second"):
        await tool(upstreams(url=recorder.url, transport=transport), "echo")


async def test_the_events_of_one_answer_are_bounded(
    upstreams: Upstreams, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slowly they come."""
    monkeypatch.setattr(http, "MAX_EVENTS", 500)
    recorder.answer = lambda method, m: (
        (200, EVENTS, in_events(*[NOTICE] * 600, right(m))) if m["method"] == "tools/call" else modern(method, m)
    )
    with pytest.raises(ServerError, match="it answered one request with more than 500 events"):
        await tool(upstreams(url=recorder.url), "echo")


async def test_others_have_their_turns() -> None:
    """Of pieces of one byte, and of events that came in one piece, only so many are read within a turn of the loop."""
    for pieces, parts in ((["d", "\n"] * 4000, 8000), (["data: x\n\n" * 4000], 16_000)):

        async def texts(pieces: list[str] = pieces) -> AsyncIterator[str]:
            for each in pieces:
                yield each

        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(others())
        async for _ in LargeMessages().events(texts, StreamFlow(Flow(), None)):
            pass
        counting.cancel()
        assert turns >= parts // (flow.PARTS_PER_TURN + 4) - 1


async def test_a_flood_is_read_at_the_pace_of_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst is read at once, then so many parts a second, over all streams of a server; a call allows a few more."""
    now, slept = 0.0, 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now, slept
        now += seconds
        slept += seconds

    monkeypatch.setattr(flow, "monotonic", lambda: now)
    monkeypatch.setattr(flow, "sleep", sleep)
    server = Flow()
    first, second = StreamFlow(server, None), StreamFlow(server, None)
    for _ in range(flow.BURST_PARTS):
        await first.piece("x")
    server.call()
    for _ in range(4):
        await second.event("x")
    assert slept == 0
    for _ in range(flow.PARTS_PER_SECOND // 4):
        await second.event("x")
        await first.event("x")
    assert slept == pytest.approx(2)

    async def flood() -> None:
        for _ in range(flow.MAX_FLOOD_PARTS // 4):
            await first.event("x")

    with pytest.raises(SSEError, match="without a pause"):
        await flood()
    with pytest.raises(SSEError, match="without a pause"):
        await second.event("x")
    now += (flow.MAX_FLOOD_PARTS + flow.BURST_PARTS) / flow.PARTS_PER_SECOND
    await second.event("x")


@pytest.mark.parametrize("most", [100, 2])
async def test_answers_that_nobody_takes_hold_up_no_call(
    upstreams: Upstreams, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A server that asks and never answers the POST with our answer gets so many, and later calls are sent."""
    monkeypatch.setattr(http, "_ONE_WAY_PATIENCE", 0.01)
    monkeypatch.setattr(http, "_MAX_ONE_WAY", most)
    over = threading.Event()
    replies = []

    def answer(method: str, message: Any) -> Any:
        if method == "POST" and "method" not in message:
            replies.append(message)
            over.wait(600)
            return 202, {}, b""
        if (message or {}).get("method") != "tools/call":
            return legacy(method, message)
        asks = [{"jsonrpc": "2.0", "id": f"q{n}", "method": "ping"} for n in range(10)]
        return 200, EVENTS, in_events(*asks, right(message))

    recorder.answer = answer
    upstream = upstreams(url=recorder.url, transport="http")
    try:
        for _ in range(3):
            assert await tool(upstream, "echo") == "right"
        assert len(replies) <= most
    finally:
        over.set()
        await upstream.close()


async def test_progress_that_the_client_does_not_take_is_dropped(
    upstreams: Upstreams, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow client has so many reports to take at the most."""
    monkeypatch.setattr(connection, "_MAX_WAITING_PROGRESS", 10)
    begun = 0

    class Slow(LoginPrompt):
        async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
            nonlocal begun
            begun += 1
            await asyncio.Event().wait()

    def answer(method: str, message: Any) -> Any:
        if message["method"] != "tools/call":
            return modern(method, message)
        token = message["params"]["_meta"]["progressToken"]
        report = {"jsonrpc": "2.0", "method": "notifications/progress"}
        reports = [{**report, "params": {"progressToken": token, "progress": n}} for n in range(100)]
        return 200, EVENTS, in_events(*reports, right(message))

    recorder.answer = answer
    await upstreams(url=recorder.url).request("tools/call", CALL, call=call_of(Slow()))
    assert begun == 10


@pytest.mark.usefixtures("one_moment")
async def test_a_subscription_that_floods_is_not_made_again(
    upstreams: Upstreams, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls go on; changes are seen when the tools are listed again."""
    monkeypatch.setattr(connection, "_RESUBSCRIBE_SECONDS", 0.0)
    over = 0

    def answer(method: str, message: Any) -> Any:
        nonlocal over
        if message["method"] == "subscriptions/listen":
            over += 1
            return 200, EVENTS, in_events(*[NOTICE] * 1000)
        status, headers, body = modern(method, message)
        return status, headers, body.replace(b'"tools": {}', b'"tools": {"listChanged": true}')

    recorder.answer = answer
    upstream = upstreams(url=recorder.url)
    assert await tool(upstream, "echo") == "hello"
    assert upstream._connection is not None
    await upstream._connection.subscribe()
    assert await tool(upstream, "echo") == "hello"
    assert over <= 2, "once by the connection, once by this test"
