"""A client lets a run go on whose server was killed, or stopped: by MCP, from another session, in both eras."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .killed_runs import Counting, configured
from .product import Agent, Project, Wire, needs_proc, web

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
    made = Project(folder, "", {"CALLER": "0"})
    configured(folder, url, durable)
    made.change(last=config)
    return made


def stored(project: Project) -> str:
    listed = project.run("runs", "list", "--json").stdout
    (run,) = [part.split('"')[0] for part in listed.split('"run": "')[1:]]
    return run


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_client_resumes_the_run_of_a_server_that_was_killed(tmp_path: Path, url: str, era: str) -> None:
    """It was killed by kill -9 during a call that may be repeated; nothing else is called twice. A principal gets at no
    other's runs, however they are called."""
    world = project(tmp_path, url)
    Counting.victim = (3, "after")
    with Wire(world) as wire:
        wire.connect().start(CODE)
        assert Holding.reached.wait(60)
        wire.kill()
    Counting.victim = (0, "")
    run = stored(world)
    async with world.stdio(era) as agent:
        tools = {tool.name for tool in (await agent.client.list_tools()).tools}
        assert "resume_run" in tools
        told = await agent.call("resume_run", run="f" * 16)
        assert run in told["error"]["hint"]
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
        Holding.do_POST = noted  # type: ignore[method-assign]
        keys.clear()
        try:
            world = project(tmp_path / f"{option[:4]}-{later[:4]}", url, option)
            world.change(first='vault_key = "a key of at least thirty-two characters"\n')
            with Wire(world) as wire:
                wire.connect().start(CODE)
                assert Holding.reached.wait(60)
                wire.kill()
            (file,) = (world.state / "runs").glob("*.run")
            assert b"add_item" not in file.read_bytes()
            Counting.victim = (0, "")
            world.change(last="" if option else later)
            async with world.stdio() as agent:
                answer = await agent.call("resume_run", run=stored(world))
        finally:
            Holding.do_POST = answered  # type: ignore[method-assign]
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


async def test_runs_of_other_principals_are_as_if_they_were_not_there(tmp_path: Path, url: str) -> None:
    world = project(tmp_path, url)
    Counting.victim = (3, "after")
    with Wire(world) as wire:
        wire.connect().start(CODE)
        assert Holding.reached.wait(60)
        wire.kill()
    Counting.victim = (0, "")
    run = stored(world)
    eve = json.loads(world.run("token", "new", "eve", "--json").stdout)["token"]
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
