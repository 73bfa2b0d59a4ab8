"""More programs than may wait are sent to one sandbox, over HTTP: those that wait need little memory, the others are
told what to do, and who has asked for little is served soon."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .conftest import LIMITS, SHELF
from .product import Agent, Api, Project, needs_proc, until
from .soak import memory
from .test_http_auth import token

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc"),
    needs_proc,
    pytest.mark.anyio,
    pytest.mark.slow,
]

PLACES = 512
"""For programs that wait. The product has four times as many; what each of them costs is the same."""
WAIT = PLACES // 2
"""Programs of one principal that may wait: half of all places."""

TOO_MANY = 8
FEW = 6
MAX_KIB = 160
"""Memory of a program that waits, and of the request for it: its connection, its tasks, its context."""

MOST_FILES = 1500
"""Descriptors for the connections, here and in the gateway, which keeps half of its own for other things."""

CONFIG = f"""
[executors.monty]
workers = 1
wait = 100
[http]
requests = 500
connections = 600
connections_per_address = 600
{LIMITS}"""


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MOST_FILES:
        pytest.skip(f"a process may have {hard} files here, and this needs {MOST_FILES}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Small(Project):
    """A project with so few places."""

    def command(self, *words: str) -> list[str]:
        code = f"from doorward.access import slots; slots.MAX_WAITING = {PLACES}; from doorward_cli import main; main()"
        return [sys.executable, "-c", code, *words, "--config", str(self.file)]


async def test_hundreds_wait(api: Api, tmp_path: Path, many_files: None) -> None:
    """Nobody waits behind the programs of another; and when the clients have gone, nothing is left of theirs."""
    project = Small(tmp_path, CONFIG + SHELF.format(url=api.url))
    tokens = {name: token(project, name)["token"] for name in ("mallory", "bob")}
    outcomes: dict[str, list[Any]] = {name: [] for name in tokens}
    held = anyio.CancelScope()

    async def run(agent: Agent, who: str) -> None:
        outcomes[who].append(await agent.run(f"import shelf\nshelf.mark(name='queue-{who}')\n1", timeout=100))

    async def hold() -> None:
        with held:
            await mallory.run("import shelf\nshelf.mark(name='queue-held')\nshelf.slow(ms=100000)", timeout=100)

    with project.http() as (url, serving):
        async with (
            connected(url, tokens["mallory"]) as mallory,
            connected(url, tokens["bob"]) as bob,
            anyio.create_task_group() as rest,
        ):
            for agent in (mallory, bob):
                assert await agent.value("1") == 1
            empty, files = memory(serving.pid), descriptors(serving.pid)
            rest.start_soon(hold)
            await so(lambda: api.marked("queue-held"))
            for _ in range(WAIT + TOO_MANY):
                rest.start_soon(run, mallory, "mallory")
            await so(
                lambda: len(outcomes["mallory"]) == TOO_MANY and audited(project, "run_started") == 3 + WAIT + TOO_MANY
            )
            full, refused = memory(serving.pid), [*outcomes["mallory"]]
            async with anyio.create_task_group() as few:
                for _ in range(FEW):
                    few.start_soon(run, bob, "bob")
                await so(lambda: audited(project, "run_started") == 3 + WAIT + TOO_MANY + FEW)
                held.cancel()
            rest.cancel_scope.cancel()
        assert until(lambda: descriptors(serving.pid) <= files + 8), (files, descriptors(serving.pid))
        assert until(lambda: audited(project, "run_finished") == audited(project, "run_started"))
    order = [mark for mark in api.get("/log")["marks"] if mark in ("queue-mallory", "queue-bob")]
    bobs = [place for place, mark in enumerate(order) if mark == "queue-bob"]
    assert [outcome["value"] for outcome in outcomes["bob"]] == [1] * FEW
    assert bobs[-1] <= 2 * FEW, "they took turns"
    for outcome in refused:
        error = outcome["error"]
        assert error["type"] == "Busy"
        assert (
            error["message"]
            == f"too many runs wait for a sandbox of the executor 'monty': {WAIT}, {WAIT} of them yours"
        )
        assert "Nothing has run: try again when some of yours have ended" in error["hint"]
    assert full - empty < MAX_KIB * WAIT


@contextlib.asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Agent]:
    """A client that may ask for as much at once as it likes."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=100, limits=limits) as http,
        Client(streamable_http_client(url, http_client=http), mode="auto", read_timeout_seconds=100) as client,
    ):
        yield Agent(client)


async def so(found: Callable[[], bool]) -> None:
    """Wait until something is so, however long that takes."""
    while not await anyio.to_thread.run_sync(found):
        await anyio.sleep(0.05)


def audited(project: Project, event: str) -> int:
    """How many there were, as the audit log has it."""
    return (project.state / "doorward.audit.jsonl").read_bytes().count(f'"{event}"'.encode())


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
