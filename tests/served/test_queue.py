"""A thousand programs of eight principals wait for one sandbox, over HTTP: they take turns, need little memory, and who
asks for too much is told."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .conftest import LIMITS, SHELF
from .product import Agent, Api, Project, needs_proc
from .soak import memory
from .test_http_auth import token

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc"),
    needs_proc,
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]

MANY = 600
"""Programs of `mallory`; half of the places in the queue are 512."""

OTHERS = [f"other{n}" for n in range(7)]
FEW = 72
"""Programs of each of the others: 1,016 wait."""

PATIENCE = 280
"""Seconds in which a request must be answered."""

MAX_KIB = 128
"""Memory of a program that waits, and of the request for it: its connection, its tasks, its context."""

CONFIG = f"""
[executors.monty]
workers = 1
wait = 250
[http]
requests = 700
connections = 3000
connections_per_address = 3000
{LIMITS}"""


async def test_a_thousand_wait(api: Api, tmp_path: Path) -> None:
    """Who has few programs is served long before who has many."""
    project = Project(tmp_path, CONFIG + SHELF.format(url=api.url))
    tokens = {name: token(project, name)["token"] for name in ("holder", "mallory", *OTHERS)}
    outcomes: list[tuple[str, Any]] = []

    async def run(agent: Agent, who: str, number: int) -> None:
        code = f"import shelf\nshelf.mark(name='{who}-{number}')\n1"
        outcomes.append((who, await agent.run(code, timeout=250)))

    with project.http() as (url, serving):
        async with contextlib.AsyncExitStack() as stack:
            asking = {who: await stack.enter_async_context(connected(url, tokens[who])) for who in tokens}
            for agent in asking.values():
                assert await agent.value("1") == 1
            empty, begun = memory(serving.pid), started(project) + 1
            async with anyio.create_task_group() as group:
                held = anyio.CancelScope()
                group.start_soon(hold, asking.pop("holder"), held)
                await anyio.to_thread.run_sync(api.marked, "held")
                for who, agent in asking.items():
                    programs = MANY if who == "mallory" else FEW
                    for number in range(programs):
                        group.start_soon(run, agent, who, number)
                    begun += programs
                    while started(project) < begun or len(outcomes) < MANY - 512:
                        await anyio.sleep(0.1)
                full = memory(serving.pid)
                refused = [outcome for _, outcome in outcomes]
                held.cancel()
            done = memory(serving.pid)
    order = [mark.partition("-")[0] for mark in api.get("/log")["marks"] if mark.partition("-")[0] in tokens]
    print(f"memory: {empty} KiB, {full} KiB with {len(order)} waiting, {done} KiB afterwards")
    assert Counter(order) == {"mallory": 512, **dict.fromkeys(OTHERS, FEW)}
    last = max(place for place, who in enumerate(order) if who != "mallory")
    assert order[:last].count("mallory") <= FEW + 2, "they took turns"
    assert len(refused) == MANY - 512
    for outcome in refused:
        said = outcome["error"]["message"]
        assert outcome["error"]["type"] == "Busy"
        assert said == "too many runs wait for a sandbox of the executor 'monty': 512, 512 of them yours"
        assert "Nothing has run: try again" in outcome["error"]["hint"]
    assert full - empty < MAX_KIB * len(order)
    assert done - empty < MAX_KIB * len(order)


@contextlib.asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Agent]:
    """A client that may ask for as much at once as it likes."""
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        ) as http,
        Client(streamable_http_client(url, http_client=http), mode="auto", read_timeout_seconds=PATIENCE) as client,
    ):
        yield Agent(client)


async def hold(agent: Agent, held: anyio.CancelScope) -> None:
    """Hold the only sandbox."""
    with held:
        await agent.run("import shelf\nshelf.mark(name='held')\nshelf.slow(ms=250000)", timeout=PATIENCE)


def started(project: Project) -> int:
    """Runs that have begun, as the audit log has it."""
    return sum(line["event"] == "run_started" for line in project.audit())
