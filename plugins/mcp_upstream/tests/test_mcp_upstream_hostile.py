"""Servers that mean harm: what they say costs nobody else anything."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import os
import re
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from doorward import LimitExceeded, ServerError
from doorward_mcp_upstream.connections import large_messages
from doorward_mcp_upstream.connections.flow import Flow, StreamFlow
from doorward_mcp_upstream.connections.large_messages import LargeMessages
from doorward_mcp_upstream.connections.stderr import StderrLog
from doorward_mcp_upstream.tools import functions
from doorward_mcp_upstream.tools.results import of_block, of_tool
from doorward_mcp_upstream.tools.values import MAX_VALUES, too_many
from doorward_mcp_upstream.upstream import Upstream
from httpx2 import SSEError

from .conftest import Upstreams


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_answer_of_millions_of_values_is_refused_before_it_is_read(upstreams: Upstreams) -> None:
    """Read, twenty million empty lists took 22 seconds, in which nobody was served, and 7 GB."""
    upstream = upstreams.raw("plain")
    await upstream.listing()
    with pytest.raises(LimitExceeded, match="more than 1,000,000 values"):
        await upstream.request("tools/call", {"name": "million", "arguments": {}})
    assert (await upstream.request("tools/call", {"name": "echo", "arguments": {}}))["content"]


async def _raw_http(on: dict[bytes, bytes], seen: list[bytes]) -> asyncio.Server:
    """A server of 2025-11-25 that says just what is given for a method, of HTTP or of the protocol; "drip" never
    ends."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head.lower())
                body = await reader.readexactly(int(length[1]) if length else 0)
                message = json.loads(body) if body else {}
                method = message.get("method", "").encode() or head.split()[0]
                seen.append(method)
                if on.get(method) == b"drip":
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                    while True:
                        writer.write(b"x")
                        await writer.drain()
                        await asyncio.sleep(0.1)
                if method in on:
                    writer.write(on[method])
                elif "id" in message:
                    info = {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "x", "version": "1"},
                    }
                    content = (
                        {"result": info} if method == b"initialize" else {"error": {"code": -32601, "message": "no"}}
                    )
                    said = json.dumps({"jsonrpc": "2.0", "id": message["id"], **content}).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: 1\r\n")
                    writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(said), said))
                else:
                    writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
        writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_session_ends_however_slowly_its_server_says_goodbye(
    upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that drips held up the end of the gateway for ever; an empty stream of events was asked for in a tight
    loop."""
    monkeypatch.setattr("doorward_mcp_upstream.connections.http._GOODBYE_SECONDS", 0.3)
    stream = b"retry: 0\n\nid: 1\ndata: \n\n"
    events = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s" % (
        len(stream),
        stream,
    )
    seen: list[bytes] = []
    server = await _raw_http({b"DELETE": b"drip", b"GET": events}, seen)
    upstream = upstreams(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", transport="http")
    with pytest.raises(ServerError):
        await upstream.listing()
    await asyncio.sleep(0.3)
    await asyncio.wait_for(upstream.close(), 60)
    assert seen.count(b"GET") == 1
    assert seen[-1] == b"DELETE"
    server.close()


@pytest.mark.slow
@pytest.mark.anyio
async def test_what_is_compressed_twice_or_nested_without_end_is_not_taken(upstreams: Upstreams) -> None:
    bomb = gzip.compress(gzip.compress(b"x" * 1000))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip, gzip\r\nContent-Length: %d\r\n\r\n%s"
    deep = b"HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000
    server = await _raw_http({b"prompts/list": head % (len(bomb), bomb), b"resources/list": deep}, [])
    upstream = upstreams(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", transport="http")
    with pytest.raises(ServerError, match="compressed more than once"):
        await upstream.request("prompts/list", {})
    with pytest.raises(ServerError, match="HTTP 400"):
        await upstream.request("resources/list", {})
    await upstream.close()
    server.close()


@pytest.mark.slow
def test_values_are_counted_outside_of_strings_only() -> None:
    assert too_many("[" + "[]," * MAX_VALUES + "[]]")
    assert not too_many(json.dumps({"csv": ",[{\\" * MAX_VALUES, 'a"b\\': "," * MAX_VALUES}))


async def _events(*pieces: str) -> list[str]:
    async def texts() -> AsyncIterator[str]:
        for piece in pieces:
            yield piece

    return [text async for text in LargeMessages().events(texts, StreamFlow(Flow(), None))]


@pytest.mark.anyio
async def test_an_event_of_millions_of_values_is_not_read_and_not_counted_on_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop has nothing to do but to put its pieces together."""
    counted: list[int] = []

    def count(text: str) -> bool:
        counted.append(threading.get_ident())
        return too_many(text)

    monkeypatch.setattr(large_messages, "too_many", count)
    with pytest.raises(SSEError, match="more than 1,000,000 values"):
        await _events('data: {"result":{"a":[', *["[]," * 100_000] * 11, "[]]}}\n", "\n")
    assert len(counted) == 1
    assert threading.get_ident() not in counted


@pytest.mark.anyio
@pytest.mark.parametrize("line", ["", "data:", "id: 1", ": ", "data: 1"])
async def test_an_event_of_a_million_lines_is_refused(line: str) -> None:
    """They are not even taken apart."""
    with pytest.raises(SSEError, match="an event has more than 100,000 lines"):
        await _events("data: 1\n" + f"{line or 'x'}\n" * 1_000_000, "\n")


@pytest.mark.anyio
async def test_a_large_event_ends_its_lines_only_where_the_standard_says() -> None:
    """What Python takes for the end of a line may be part of a text; of lines that say the same, the last counts."""
    text = json.dumps({"jsonrpc": "2.0", "id": 5, "result": {"text": "a\u2028b\x85" * 20_000}}, ensure_ascii=False)
    large = LargeMessages()

    async def texts() -> AsyncIterator[str]:
        yield "id: 1\nevent: message\n" + "id: 2\n" * 1000 + f"data: {text}\n\n"

    (event,) = [event async for event in large.events(texts, StreamFlow(Flow(), None))]
    event_id, kind, data, *end = event.split("\n")
    assert (event_id, kind, end) == ("id: 2", "event: message", ["", ""])
    assert large.whole(json.loads(data.removeprefix("data: "))["result"]) == {"text": "a\u2028b\x85" * 20_000}


@pytest.mark.anyio
async def test_an_event_without_an_end_is_given_to_nobody() -> None:
    """The protocol wants it dropped; it may have the length of the largest."""
    assert await _events("data: 1\n\n", "data: 2", "x" * 2**20) == ["data: 1\n\n"]


@pytest.mark.anyio
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
async def test_an_event_is_there_as_soon_as_it_ends(end: str) -> None:
    """Whatever ends its lines, and however it is cut into pieces."""
    text = f"data: 1{end}data: 2{end}{end}data: 3{end}{end}"
    for size in range(1, len(text) + 1):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(await _events(*pieces)) == "data: 1\ndata: 2\n\ndata: 3\n\n"


def test_a_text_of_millions_of_values_is_not_parsed() -> None:
    with pytest.raises(LimitExceeded, match="more than 1,000,000 values"):
        of_block({"type": "text", "text": "[" + "[]," * MAX_VALUES + "[]]"})


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(
    "line",
    [
        "x\n",
        "{}\n",
        '{"jsonrpc":"2.0","id":"p","method":"ping"}\n',
        '{"jsonrpc":"2.0","method":"notifications/message"}\n',
    ],
)
async def test_a_flood_leaves_others_their_turn(upstreams: Upstreams, tmp_path: Path, line: str) -> None:
    """Nobody had a turn until all that had arrived was worked through: 1.5 seconds and more, again and again."""
    upstream, flag = upstreams.raw("plain", timeout=60), tmp_path / "flag"
    await upstream.listing()
    flood = asyncio.create_task(
        upstream.request("tools/call", {"name": "flood", "arguments": {"line": line, "flag": str(flag)}})
    )
    turns: list[float] = []
    while not flag.exists():
        await asyncio.sleep(0.01)
    while not flood.done() and len(turns) < 30:
        turns.append(time.process_time())  # how long this process has the processor does not depend on others
        await asyncio.sleep(0.001)
    assert not flood.done()
    flood.cancel()
    await asyncio.wait([flood])
    assert sorted(b - a for a, b in itertools.pairwise(turns))[-3] < 0.25


def test_an_answer_of_too_many_blocks_is_not_decoded() -> None:
    with pytest.raises(LimitExceeded, match="20000 blocks"):
        of_tool({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}] * 20_000})


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_tool_that_is_too_large_is_left_out_and_named_plainly(upstreams: Upstreams) -> None:
    listing = await upstreams.raw("large").listing()
    assert [tool["name"] for tool in listing.tools] == ["t0"]
    assert len(listing.tools[0]["description"]) == 10_000
    assert [(s.where, s.why) for s in listing.skipped] == [
        ("t2", "has more than 1048576 characters"),
        ("evil", "its inputSchema is not an object"),
    ]


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_odd_tool_costs_no_other(upstreams: Upstreams) -> None:
    """A schema nested 400 deep hid all tools of its server, and so did a lone surrogate, a long number, and a byte that
    is no text."""
    listing = await upstreams.raw("odd").listing()
    names = [tool["name"] for tool in listing.tools]
    assert names[0] == "first"
    assert names[-1] == "last"
    assert {"digits", "nan", "twice", "required"} <= set(names)
    skipped = {one.where: one.why for one in listing.skipped}
    assert skipped["deep400"] == skipped["deep5000"] == "is nested too deeply"
    assert len(listing.tools) + len(skipped) >= 15
    made = functions.compiled("x", listing.tools)
    assert {"first", "last", "digits", "nan"} <= {function.name for function in made.functions}
    json.dumps([function.parameters for function in made.functions], allow_nan=False)


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_deep_answer_is_read(upstreams: Upstreams) -> None:
    """An answer to a call may be as deep as it likes; who reads it cuts it."""
    upstream = upstreams.raw("plain")
    found = await upstream.request("tools/call", {"name": "deep", "arguments": {"levels": 20_000}})
    assert found["structuredContent"]["a"]
    assert (await upstream.request("tools/call", {"name": "echo", "arguments": {}}))["content"]


@pytest.mark.slow
def test_references_to_one_large_schema_cost_little() -> None:
    """Each of many references to the same place was compared anew, as a whole: a minute, in which nobody was served."""
    properties = {f"p{i}": {"$ref": f"#/$defs/a/{'0' * i}"} for i in range(1, 400)}
    schema = {"type": "object", "properties": properties, "$defs": {"a": [{"enum": list(range(100_000))}]}}
    started = time.process_time()
    made = functions.compiled("x", [{"name": "t", "inputSchema": schema}])
    assert len(made.functions) == 1
    assert time.process_time() - started < 3


@pytest.mark.anyio
async def test_changes_without_end_are_told_ever_later(upstreams: Upstreams) -> None:
    """Each is compiled, and every client's cache is void: 3 times a second, for ever."""
    upstream: Upstream = upstreams.raw("plain")
    waits = []
    for _ in range(10):
        upstream._tell()
        waiting = upstream._telling
        assert waiting is not None
        upstream._tell()
        assert upstream._telling is waiting, "one is enough for both"
        waits.append(upstream._patience)
        waiting.cancel()
        upstream._told()
    assert waits == [0.3, 0.6, 1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 60, 60]
    assert upstreams.changes == 10
    upstream._told_at -= 61
    upstream._tell()
    assert upstream._patience == 0.3, "after a minute of quiet"


def test_a_pipe_in_place_of_the_log_stops_nobody(tmp_path: Path) -> None:
    """To open one for writing waits until somebody reads."""
    os.mkfifo(tmp_path / "stderr.log")
    log = StderrLog(tmp_path / "stderr.log", str)
    log.add("a line")
    assert log.tail() == "a line"


def test_no_colour_and_no_line_end_hides_a_secret_in_the_log(tmp_path: Path) -> None:
    log = StderrLog(
        tmp_path / "stderr.log", lambda text: text.replace("s3cret-value", "[secret]").replace("two\nlines", "[secret]")
    )
    log.feed(b"the token s3cret\x1b[0m-value\nkey: two\nlines\nend\x1b]0;title\nnext\n")
    log.flush()
    assert log.tail() == "the token [secret]\nkey: [secret]\nend\nnext"
