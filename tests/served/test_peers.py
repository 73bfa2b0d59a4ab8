"""Two `doorward serve` with folders of their own, one PostgreSQL database and `[http] peer`, behind a balancer that sends
each request to the next of them: what one of them holds for a client is found by either."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from doorward_testing import reserve_port

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, alive, connected, descendants, process, until
from .test_behind_a_balancer import KEY, Balancer, listening, yes
from .test_two_machines import RULE, Machines
from .test_workers import CLIENT, OLDER

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}


class Peers(Machines):
    """Machines each of which says by which address the others reach it."""

    def __init__(self, folder: Path, database: str, config: str, names: Sequence[str] = ("one", "other")) -> None:
        super().__init__(folder, database, config, names)
        self.ports = [reserve_port() for _ in self.each]
        for project, port in zip(self.each, self.ports, strict=True):
            project.env["DOORWARD_HTTP__PEER"] = f"http://127.0.0.1:{port}/mcp"

    @contextlib.contextmanager
    def served(self, *options: str) -> Iterator[tuple[str, list[str], list[Any]]]:
        """The URL of all, that of each, and their processes."""
        with contextlib.ExitStack() as stack:
            served = [
                stack.enter_context(project.http("--port", str(port), *options))
                for project, port in zip(self.each, self.ports, strict=True)
            ]
            urls = [url for url, _ in served]
            known = {"turn": itertools.count(), "urls": [url.removesuffix("/mcp") for url in urls]}
            url, _ = stack.enter_context(listening(Balancer, **known))
            yield f"{url}/mcp", urls, [each for _, each in served]


async def test_what_one_holds_is_found_by_either(tmp_path: Path, postgres: str, api: Api) -> None:
    """Sessions of older protocol versions, with what their clients are asked, and sandboxes with their variables, of
    workers, too; what a client that has gone had begun is ended there. Where the machine is killed, its clients are told
    to begin anew, and the other one goes on."""
    machines = Peers(tmp_path, postgres, KEY + LIMITS + RULE + SHELF.format(url=api.url))
    with machines.served("--workers", "2") as (url, urls, processes):
        async with contextlib.AsyncExitStack() as stack:
            older = [
                await stack.enter_async_context(connected(url, "legacy", elicitation_callback=yes)) for _ in range(4)
            ]

            async def work(agent: Agent, number: int) -> None:
                for turn in range(4):
                    assert await agent.value(f"{number} + {turn}") == number + turn
                name = f"of {number}"
                code = f"import shelf\nresult = shelf.create_item(itemName={name!r})['itemName']"
                assert await agent.value(code) == name

            async with anyio.create_task_group() as tasks:
                for number, agent in enumerate(older):
                    tasks.start_soon(work, agent, number)
            today = [await stack.enter_async_context(connected(url)) for _ in range(3)]
            sandbox = (await today[0].run("x = 41", session_id="new"))["session_id"]
            for agent in today * 3:
                assert await agent.value("x + 1", session_id=sandbox) == 42
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    slow = "import shelf\nshelf.mark(name='by-a-peer')\nshelf.slow(ms=600_000)"
                    tasks.start_soon(lambda: today[1].run(slow, session_id=sandbox))
                    assert await anyio.to_thread.run_sync(api.marked, "by-a-peer")
                    scope.cancel()
            outcome = await today[2].run("x", session_id=sandbox)
            assert 'session_id="new"' in str(outcome["error"])
        async with connected(urls[1]) as agent:
            sandbox = (await agent.run("x = 41", session_id="new"))["session_id"]
        begun = httpx2.post(urls[1], json=INITIALIZE, headers=OLDER)
        asked = {"json": {**INITIALIZE, "method": "tools/list"}, "timeout": 300}
        asked["headers"] = OLDER | {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]}
        assert httpx2.post(urls[0], **asked).status_code == 200
        serving = Forked.pid(processes[1].pid)
        everyone = [process(serving), *descendants(serving)]
        os.kill(serving, signal.SIGKILL)
        assert until(lambda: not any(map(alive, everyone)))
        refused = httpx2.post(urls[0], **asked)
        assert (refused.status_code, "begin a new one" in refused.text) == (404, True)
        async with connected(url, "legacy") as agent:
            assert await agent.value("2 + 2") == 4
        async with connected(url) as agent:
            assert 'session_id="new"' in str((await agent.run("x", session_id=sandbox))["error"])
