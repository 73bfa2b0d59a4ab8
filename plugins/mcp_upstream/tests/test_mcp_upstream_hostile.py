"""Servers that mean harm: what they say costs nobody else anything."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from pathlib import Path

import pytest
from doorward import LimitExceeded
from doorward_mcp_upstream import functions
from doorward_mcp_upstream.results import of_block
from doorward_mcp_upstream.stderr import StderrLog
from doorward_mcp_upstream.upstream import Upstream
from doorward_mcp_upstream.values import MOST_VALUES, Values, too_many

from .conftest import Upstreams


@pytest.mark.anyio
async def test_an_answer_of_millions_of_values_is_refused_before_it_is_read(upstreams: Upstreams) -> None:
    """Read, twenty million empty lists took 22 seconds, in which nobody was served, and 7 GB."""
    upstream = upstreams.raw("plain")
    await upstream.listing()
    with pytest.raises(LimitExceeded, match="more than 1,000,000 values"):
        await upstream.request("tools/call", {"name": "million", "arguments": {}})
    assert (await upstream.request("tools/call", {"name": "echo", "arguments": {}}))["content"]


def test_values_are_counted_outside_of_strings_only() -> None:
    assert too_many("[" + "[]," * MOST_VALUES + "[]]")
    assert not too_many(json.dumps({"csv": ",[{\\" * MOST_VALUES, 'a"b\\': "," * MOST_VALUES}))
    pieces = Values()
    text = (json.dumps(["\\", '\\"', "a,b" * 1000]) * 300).encode()
    for start in range(0, len(text), 7):
        assert not pieces.feed(text[start : start + 7])
    assert pieces._count == 300 * 3


def test_a_text_of_millions_of_values_is_not_parsed() -> None:
    with pytest.raises(LimitExceeded, match="more than 1,000,000 values"):
        of_block({"type": "text", "text": "[" + "[]," * MOST_VALUES + "[]]"})


@pytest.mark.anyio
@pytest.mark.parametrize(
    "line", ["x\n", "{}\n", '{"jsonrpc":"2.0","id":"p","method":"ping"}\n', '{"jsonrpc":"2.0","method":"notifications/message"}\n']
)
async def test_a_flood_leaves_others_their_turn(upstreams: Upstreams, tmp_path: Path, line: str) -> None:
    """Nobody had a turn until all that had arrived was worked through: 1.5 seconds and more, again and again."""
    upstream, flag = upstreams.raw("plain", timeout=1.2), tmp_path / "flag"
    await upstream.listing()
    flood = asyncio.create_task(upstream.request("tools/call", {"name": "flood", "arguments": {"line": line, "flag": str(flag)}}))
    turns: list[float] = []
    while not flag.exists():
        await asyncio.sleep(0.01)
    while not flood.done():
        turns.append(time.monotonic())
        await asyncio.sleep(0.001)
    flood.exception()
    assert len(turns) > 30
    assert sorted(b - a for a, b in itertools.pairwise(turns))[-3] < 0.25


@pytest.mark.anyio
async def test_a_tool_that_is_too_large_is_left_out_and_named_plainly(upstreams: Upstreams) -> None:
    listing = await upstreams.raw("large").listing()
    assert [tool["name"] for tool in listing.tools] == ["t0"]
    assert len(listing.tools[0]["description"]) == 10_000
    assert [(s.where, s.why) for s in listing.skipped] == [
        ("t2", "has more than 1048576 characters"),
        ("evil", "its inputSchema is no object"),
    ]


def test_references_to_one_large_schema_cost_little() -> None:
    """Each of many references to the same place was compared anew, as a whole: a minute, in which nobody was served."""
    properties = {f"p{i}": {"$ref": f"#/$defs/a/{'0' * i}"} for i in range(1, 400)}
    schema = {"type": "object", "properties": properties, "$defs": {"a": [{"enum": list(range(100_000))}]}}
    started = time.process_time()
    made = functions.compiled("x", [{"name": "t", "inputSchema": schema}])
    assert len(made.functions) == 1
    assert time.process_time() - started < 3


@pytest.mark.anyio
async def test_changes_without_end_are_told_ever_later(upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is compiled, and every client's cache is void: 3 times a second, for ever."""
    monkeypatch.setattr("doorward_mcp_upstream.upstream._DEBOUNCE", 0.01)
    upstream: Upstream = upstreams.raw("plain")
    until = time.monotonic() + 0.7
    while time.monotonic() < until:
        upstream._tell()
        await asyncio.sleep(0.001)
    assert 3 <= upstreams.changes <= 6
    upstream._told_at -= 100
    upstream._telling = None
    upstream._tell()
    await asyncio.sleep(0.1)
    assert upstreams.changes <= 7
    assert upstream._patience == 0.01


def test_a_pipe_in_place_of_the_log_stops_nobody(tmp_path: Path) -> None:
    """To open one for writing waits until somebody reads."""
    os.mkfifo(tmp_path / "stderr.log")
    log = StderrLog(tmp_path / "stderr.log", str)
    log.add("a line")
    assert log.tail() == "a line"


def test_no_colour_and_no_line_end_hides_a_secret_in_the_log(tmp_path: Path) -> None:
    log = StderrLog(tmp_path / "stderr.log", lambda text: text.replace("s3cret-value", "[secret]").replace("two\nlines", "[secret]"))
    log.feed(b"the token s3cret\x1b[0m-value\nkey: two\nlines\nend\x1b]0;title\nnext\n")
    log.flush()
    assert log.tail() == "the token [secret]\nkey: [secret]\nend\nnext"
