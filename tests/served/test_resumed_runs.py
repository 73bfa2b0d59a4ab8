"""A client lets a run go on whose server was killed, or stopped: by MCP, from another session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .forked import Forked
from .killed_runs import Counting, configured
from .product import Agent, Project, Wire, needs_proc, web
from .stored import stored_bytes
from .test_http_auth import token

pytestmark = [pytest.mark.anyio, needs_proc]

CODE = """
import api
made = [api.get_item(n=1)["value"]]
made.append(api.add_item(name="first")["n"])
print("half")
made.append(api.put_item(name="second")["n"])
made.append(api.add_item(name="third")["n"])
made
"""
MADE = [70, "first", "second", "third"]


class Holding(Counting):
    """Does what `Counting` does; where it would kill its caller, it says that it has come there, and waits."""

    reached = threading.Event()
    released = threading.Event()

    def _kill(self) -> None:
        self.close_connection = True
        self.reached.set()
        self.released.wait(60)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def url() -> Iterator[str]:
    Counting.begin()
    Holding.reached.clear()
    Holding.released.clear()
    with web(Holding) as found:
        yield found
        Holding.released.set()


def project(folder: Path, url: str, config: str = "", durable: str = "always") -> Project:
    """A project with the API, by which runs are stored."""
    made = Forked(folder, "", {"CALLER": "0"})
    configured(folder, url, durable)
    made.change(last=config)
    return made


def kill(process: subprocess.Popen[Any]) -> None:
    """kill -9 of the server, to its end."""
    os.kill(Forked.pid(process.pid), signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL


def stored(project: Project) -> str:
    listed = project.run("runs", "list", "--json").stdout
    (run,) = [part.split('"')[0] for part in listed.split('"run": "')[1:]]
    return run


async def test_a_client_resumes_the_run_of_a_server_that_was_killed(tmp_path: Path, url: str) -> None:
    """It was killed by kill -9 during a call that may be repeated; nothing else is called twice. For another principal
    the run is as if it was not there, however it is called. A client of the older era began it; one of the newer era
    resumes it."""
    world = project(tmp_path, url)
    Counting.victim = (3, "after")
    with Wire(world) as wire:
        wire.connect().start(CODE)
        assert Holding.reached.wait(60)
        kill(wire.process)
    Counting.victim = (0, "")
    run = stored(world)
    eve = token(world, "eve")["token"]
    with world.http() as (address, _):
        bearer = {"Authorization": f"Bearer {eve}"}
        async with (
            httpx2.AsyncClient(headers=bearer) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            told = [
                (await Agent(client).call("resume_run", run=asked))["error"] for asked in (run, "f" * 16, f"../{run}")
            ]
    assert {error["type"] for error in told} == {"UnknownName"}
    assert not any(run in error.get("hint", "") for error in told)
    assert stored(world) == run
    async with world.stdio() as agent:
        tools = {tool.name for tool in (await agent.client.list_tools()).tools}
        assert "resume_run" in tools
        wrong = await agent.call("resume_run", run="f" * 16)
        assert run in wrong["error"]["hint"]
        answer = await agent.call("resume_run", run=run)
    assert (answer["value"], answer["printed"]) == (MADE, "half\n")
    assert Counting.written == {"POST first": 1, "PUT second": 2, "POST third": 1}


async def test_a_write_whose_outcome_is_unknown_is_repeated_with_its_key_alone(tmp_path: Path, url: str) -> None:
    """Where the API knows a repeated request by a key, the same key comes again: also with `vault_key`, which seals
    what is stored. Where it does not, or did not when the call was made, a person is asked, and the client is told so."""
    keys: list[str] = []
    answered = Holding.do_POST

    def noted(self: Any) -> None:
        keys.append(self.headers.get("Idempotency-Key", ""))
        answered(self)

    key = 'idempotency_key = "Idempotency-Key"'
    for option, later in (("", ""), (key, key), ("", key)):
        Counting.begin((2, "before"))
        Holding.reached.clear()
        Holding.do_POST = noted
        keys.clear()
        try:
            world = project(tmp_path / f"{option[:4]}-{later[:4]}", url, option)
            world.change(first='vault_key = "a key of at least thirty-two characters"\n')
            with Wire(world) as wire:
                wire.connect().start(CODE)
                assert Holding.reached.wait(60)
                kill(wire.process)
            assert b"add_item" not in stored_bytes(world.state)
            Counting.victim = (0, "")
            world.change(last="" if option else later)
            async with world.stdio() as agent:
                answer = await agent.call("resume_run", run=stored(world))
        finally:
            Holding.do_POST = answered
        if option:
            assert answer["value"] == MADE
            assert keys[0] == keys[1] != keys[2]
            assert keys[0].startswith("doorward-")
        else:
            assert answer["waiting"]["for"] == "unknown"
            assert "api.add_item" in answer["waiting"]["what"][0]
            assert Counting.written == {}
            done = world.run("runs", "resume", answer["waiting"]["run"], "--unknown", "repeat", "--json")
            assert done.returncode == 0, done.stderr
            assert '"value": [70, "first", "second", "third"]' in done.stdout
        assert Counting.written == {"POST first": 1, "PUT second": 1, "POST third": 1}


@pytest.mark.slow
async def test_a_client_that_lost_its_answer_finds_its_run(tmp_path: Path, url: str) -> None:
    """Its server was killed by kill -9 during a write. The id was in the header of the answer and in a notification; the
    program is not begun again; and what the API has got once, it has got once."""
    world = project(tmp_path, url)
    Counting.victim = (2, "after")
    headers = {
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN_PROTOCOL_VERSIONS[-1],
        "Mcp-Method": "tools/call", "Mcp-Name": "execute_code",
    }  # fmt: skip
    meta = {
        "progressToken": 1, "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL_VERSIONS[-1],
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }  # fmt: skip
    params = {"name": "execute_code", "arguments": {"code": CODE}, "_meta": meta}
    asks = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with httpx2.AsyncClient(timeout=60) as http:
        with world.http() as (address, serving):
            async with http.stream("POST", address, headers=headers, json=asks) as answer:
                assert await asyncio.to_thread(Holding.reached.wait, 60)
                kill(serving)
                run = answer.headers["Doorward-Run"]
                with contextlib.suppress(httpx2.TransportError):
                    told = [line async for line in answer.aiter_lines()]
                    assert f'resume_run(\\"{run}\\")' in "".join(told)
    Counting.victim = (0, "")
    async with world.stdio() as agent:
        stopped = await agent.run(CODE)
        assert stopped["error"]["type"] == "RunInterrupted"
        assert run in stopped["error"]["message"]
        (listed,) = (await agent.call("resume_run"))["value"]
        assert (listed["run"], listed["sent"]) == (run, "api.add_item ×1 (1 of them with an answer that is lost)")
        assert (await agent.call("resume_run", run=run))["waiting"]["for"] == "unknown"
        assert world.run("runs", "resume", run, "--unknown", "fail", "--json").returncode == 1
        assert Counting.written == {"POST first": 1}
        assert (await agent.run(CODE))["value"] == MADE
