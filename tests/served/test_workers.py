"""`doorward serve --workers`: processes at one address, which stand in for one another."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import anyio
import httpx2
import pytest

from .conftest import LIMITS
from .product import Project, alive, connected, descendants, needs_proc, process, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_proc]

OLDER = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def health(url: str) -> str:
    with urlopen(url.replace("/mcp", "/healthz")) as answer:
        return str(answer.read().decode().strip())


class Worker:
    """One of them, asked by the socket that it has for the others, as a balancer would ask it."""

    def __init__(self, path: Path) -> None:
        self._folder = os.open(path.parent, os.O_RDONLY)  # paths of sockets must be short
        short = f"/proc/self/fd/{self._folder}/{path.name}"
        self._client = httpx2.Client(transport=httpx2.HTTPTransport(uds=short), timeout=300)
        self.id = path.stem

    def post(self, body: Any, session: str = "") -> httpx2.Response:
        headers = OLDER | ({"Mcp-Session-Id": session} if session else {}) | {"Host": "127.0.0.1"}
        return self._client.post("http://127.0.0.1/mcp", json={"jsonrpc": "2.0", **body}, headers=headers)

    def begin(self) -> str:
        """A session of the older era."""
        return str(self.post({"id": 1, "method": "initialize", "params": CLIENT}).headers["Mcp-Session-Id"])

    def run(self, session: str, code: str, **more: Any) -> Any:
        called = {"name": "execute_code", "arguments": {"code": code, **more}}
        answer = self.post({"id": 2, "method": "tools/call", "params": called}, session)
        (data,) = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(data)["result"]["structuredContent"]

    def ask(self, method: str, name: str, /, **params: Any) -> Any:
        """The answer to a request of 2026-07-28 by a client that takes tasks."""
        takes = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
        about = {"protocolVersion": "2026-07-28", "clientCapabilities": takes}
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
        headers = {**OLDER, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        answer = self._client.post("http://127.0.0.1/mcp", json=body, headers={**headers, "Host": "127.0.0.1"})
        streamed = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads((streamed or [answer.text])[-1])


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[str, Any, Project]]:
    project = Project(folder, LIMITS)
    with project.http("--workers", "2") as (url, serving):
        yield url, serving, project


def workers(project: Project) -> list[Worker]:
    return [Worker(path) for path in sorted((project.state / "processes").glob("*.http"))]


async def test_one_stands_in_for_the_other(tmp_path: Path) -> None:
    """A session of an older protocol version, and a sandbox with its variables, are found whichever worker is asked.
    One that is killed is started anew: its sessions are gone, and that is said as clients expect it; those of the other
    go on. SIGTERM ends all, and leaves nothing."""
    with served(tmp_path) as (url, serving, project):
        assert health(url) == "ok, 2 of 2 workers"
        one, other = workers(project)
        session = one.begin()
        assert session.startswith(one.id)
        assert one.run(session, "1 + 1")["value"] == 2
        assert other.run(session, "2 + 2")["value"] == 4
        async with contextlib.AsyncExitStack() as stack:
            agents = [await stack.enter_async_context(connected(url)) for _ in range(8)]
            sandbox = (await agents[0].run("x = 41", session_id="new"))["session_id"]
            assert [await agent.value("x + 1", session_id=sandbox) for agent in agents] == [42] * 8
        both = {each: each.begin() for each in (one, other)}
        pids = descendants(serving.pid)[:2]
        os.kill(pids[0][0], signal.SIGKILL)
        assert until(lambda: "worker_died" in project.said())
        assert until(lambda: health(url) == "ok, 2 of 2 workers")
        left = {each.id for each in workers(project)}
        (gone,) = {one.id, other.id} - left
        (lives,) = {one.id, other.id} & left
        named = {each.id: (each, session) for each, session in both.items()}
        worker, session = named[lives]
        assert worker.run(session, "3 + 3")["value"] == 6
        refused = worker.post({"id": 3, "method": "tools/list"}, named[gone][1])
        assert (refused.status_code, "begin a new one" in refused.text) == (404, True)
        everyone = [process(serving.pid), *descendants(serving.pid)]
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(300) == 0
        assert until(lambda: not any(map(alive, everyone)))
        assert not list((project.state / "processes").glob("*.http"))


async def test_any_worker_answers_for_a_task(tmp_path: Path) -> None:
    """A call that takes long has become one, and whoever began it is gone: each worker knows how it stands, and ends its
    run."""
    with served(tmp_path) as (_, _, project):
        one, other = workers(project)
        arguments = {"code": "import time\nwhile True:\n    time.sleep(0.1)", "timeout": 250}
        task = one.ask("tools/call", "execute_code", name="execute_code", arguments=arguments)["result"]
        assert task["resultType"] == "task"
        id = task["taskId"]
        assert [each.ask("tasks/get", id, taskId=id)["result"]["status"] for each in (one, other)] == ["working"] * 2
        assert other.ask("tasks/get", id[:-1], taskId=id[:-1])["error"]["code"] == -32602
        assert other.ask("tasks/cancel", id, taskId=id)["result"]["resultType"] == "complete"
        assert [each.ask("tasks/get", id, taskId=id)["result"]["status"] for each in (one, other)] == ["cancelled"] * 2
        ends = [line for line in project.audit() if line["event"] == "run_finished"]
        assert [line["error"] for line in ends] == ["limit:Cancelled"]


async def test_all_are_replaced_one_after_the_other(tmp_path: Path) -> None:
    """On SIGHUP, while each request is answered: what runs comes to its end, and those who stay get what is new. When the
    first process is killed, no worker stays behind."""
    with served(tmp_path) as (url, serving, _):
        ran: list[int] = []

        async def run() -> None:
            async with connected(url) as agent:
                ran.append(await agent.value("import time\ntime.sleep(2)\nresult = 1"))

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(run)
            before = {pid for pid, _ in descendants(serving.pid)[:2]}
            serving.send_signal(signal.SIGHUP)
            number = 0
            while before & {pid for pid, _ in descendants(serving.pid)} or health(url) != "ok, 2 of 2 workers":
                number += 1
                async with connected(url) as agent:
                    assert await agent.value(f"{number} + 1") == number + 1
        assert ran == [1] * 4
        everyone = descendants(serving.pid)
        serving.kill()
        assert until(lambda: not any(map(alive, everyone)))


@pytest.mark.parametrize(
    ("options", "config", "told"),
    [
        (["--transport", "stdio"], "", "--workers is for --transport http"),
        (["--transport", "http", "--port", "0"], "", "workers share what they remember by a store"),
    ],
)
def test_what_several_cannot_serve(tmp_path: Path, options: list[str], config: str, told: str) -> None:
    """It is said once, and nothing stays behind."""
    project = Project(tmp_path, LIMITS)
    project.change('cache = "sqlite"\n', "", first='store = "memory"\n')
    ended = project.run("serve", "--workers", "2", *options)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count(told) == 1
    assert "Traceback" not in ended.stderr
