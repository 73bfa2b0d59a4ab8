"""SIGTERM: what runs comes to its end within the grace time, what comes later is told, then all ends well; over HTTP
and over stdio."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from .forked import project
from .product import Agent, Api, Process, Project, Wire, alive, connected, descendants, needs_proc, process, until

__all__ = ["project"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SLOW = "import shelf\nshelf.mark(name='{name}')\nshelf.slow(ms=29000)\nresult = 'done'"
LONG = "import shelf\nshelf.mark(name='{name}')\nfor n in range(280):\n    shelf.slow(ms=100)\nresult = n"
"""Suspended between two calls."""


def ready(url: str) -> tuple[int, str]:
    answer = httpx2.get(url.replace("/mcp", "/readyz"), headers={"Host": "10.0.0.7"})
    return answer.status_code, answer.text


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_what_runs_ends_and_what_comes_is_told(api: Api, project: Project, era: str) -> None:
    """A program that is running when SIGTERM comes is answered; one that comes afterwards has not run, and its agent is
    told to try again; `/readyz` says that no more is taken, and the server ends with 0."""
    code = SLOW.format(name=f"drains-{era}")
    with contextlib.ExitStack() as stack, project.http() as (url, serving):
        assert until(lambda: ready(url) == (200, "ok\n"))
        outcomes = []
        async with connected(url, era) as agent, connected(url, era) as late, anyio.create_task_group() as group:

            async def run() -> None:
                outcomes.append(await agent.call("execute_code", code=code))

            for each in (agent, late):  # the SDK's client asks for the schema of answers once
                await each.call("execute_code", code="result = 1")
            group.start_soon(run)
            assert await anyio.to_thread.run_sync(api.marked, f"drains-{era}")
            serving.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(until, lambda: ready(url)[0] == 503)
            assert ready(url)[1] == "no: it is being stopped\n"
            told = await late.call("execute_code", code="result = 1")
            assert told["error"]["type"] == "Busy"
            assert "is being stopped" in told["error"]["message"]
            assert "Nothing has run: try again" in told["error"]["hint"]
            stack.enter_context(api.hurried())
        assert outcomes[0]["value"] == "done"
        assert until(lambda: serving.poll() is not None)
    assert serving.returncode == 0
    assert "Traceback" not in project.said()


async def slow(agent: Agent, name: str, failed: list[str]) -> None:
    """Run a program that takes longer than anything waits, and note how that fails."""
    try:
        await agent.call("execute_code", code=SLOW.format(name=name))
    except Exception as error:
        failed.append(str(error))


@pytest.mark.parametrize("second", [False, True], ids=["grace", "second signal"])
async def test_what_takes_longer_is_ended(api: Api, project: Project, second: bool) -> None:
    """After the grace time, or at a second signal, what still runs is ended and its client told."""
    project.env["DOORWARD_HTTP__GRACE"] = "60" if second else "0.3"
    name = f"late-{second}"
    with project.http() as (url, serving):
        failed: list[str] = []
        async with connected(url) as agent, anyio.create_task_group() as group:
            group.start_soon(slow, agent, name, failed)
            assert await anyio.to_thread.run_sync(api.marked, name)
            told = time.monotonic()
            serving.send_signal(signal.SIGTERM)
            if second:
                assert await anyio.to_thread.run_sync(until, lambda: ready(url)[0] == 503)
                serving.send_signal(signal.SIGTERM)
        assert "shutting down" in failed[0]
        assert until(lambda: serving.poll() is not None)
        assert time.monotonic() - told < 40
    assert serving.returncode == 0


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_what_was_suspended_is_resumed_by_the_next_server(api: Api, project: Project, era: str) -> None:
    """Without any configuration: `resume_run` is not offered as long as nothing waits, and is by the server that comes
    after the one which was stopped."""
    project.env["DOORWARD_HTTP__GRACE"] = "0.3"
    name = f"goes-on-{era}"
    code = LONG.format(name=name)
    with project.http() as (url, serving):
        async with connected(url, era) as agent, anyio.create_task_group() as group:
            assert "resume_run" not in {tool.name for tool in (await agent.client.list_tools()).tools}
            outcomes = []

            async def run() -> None:
                outcomes.append(await agent.call("execute_code", code=code))

            group.start_soon(run)
            assert await anyio.to_thread.run_sync(api.marked, name)
            serving.send_signal(signal.SIGTERM)
        waiting = outcomes[0]["waiting"]
        assert waiting["for"] == "stop"
        assert until(lambda: serving.poll() is not None)
    with project.http() as (url, _), api.hurried():
        async with connected(url, era) as agent:
            assert "resume_run" in {tool.name for tool in (await agent.client.list_tools()).tools}
            assert (await agent.call("resume_run", run=waiting["run"]))["value"] == 279
    assert [each["path"] for each in api.seen() if name in str(each)] == [f"/mark/{name}"]


# Over stdio


def serving_pid(project: Project) -> int:
    """The process that the SDK's client has started."""
    return next(
        pid
        for pid, _ in descendants(os.getpid())
        if str(project.file).encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    )


async def refused(agent: Agent) -> Any:
    """The first refusal of a program: the server has noticed that it is to stop."""
    while (told := await agent.call("execute_code", code="result = 1"))["ok"]:
        pass
    return told


async def is_gone(one: Process) -> bool:
    return await anyio.to_thread.run_sync(until, lambda: not alive(one))


@needs_proc
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_stdio_what_runs_ends_and_what_comes_is_told(api: Api, project: Project, era: str) -> None:
    """The one client gets the answer of what ran when SIGTERM came, and is told of what it asked afterwards."""
    name = f"stdio-drains-{era}"
    async with project.stdio(era) as agent, anyio.create_task_group() as group:
        await agent.value("1")  # the SDK's client asks for the schema of answers once
        serving = process(serving_pid(project))
        outcomes = []

        async def run() -> None:
            outcomes.append(await agent.call("execute_code", code=SLOW.format(name=name)))

        group.start_soon(run)
        assert await anyio.to_thread.run_sync(api.marked, name)
        os.kill(serving[0], signal.SIGTERM)
        told = await refused(agent)
        assert told["error"]["type"] == "Busy"
        assert "is being stopped" in told["error"]["message"]
        with api.hurried():
            assert await is_gone(serving)
    assert outcomes[0]["value"] == "done"
    assert "Traceback" not in project.said()


@needs_proc
@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT])
async def test_stdio_what_takes_longer_is_ended(api: Api, project: Project, again: int) -> None:
    """At a second signal what still runs is ended, and its client told."""
    project.env["DOORWARD_HTTP__GRACE"] = "60"
    name = f"stdio-late-{again}"
    async with project.stdio() as agent, anyio.create_task_group() as group:
        await agent.value("1")
        serving = process(serving_pid(project))
        failed: list[str] = []
        group.start_soon(slow, agent, name, failed)
        assert await anyio.to_thread.run_sync(api.marked, name)
        os.kill(serving[0], signal.SIGTERM)
        await refused(agent)
        assert alive(serving)
        os.kill(serving[0], again)
        assert await is_gone(serving)
    assert "shutting down" in failed[0]
    assert "Traceback" not in project.said()


@needs_proc
async def test_stdio_what_was_suspended_is_resumed_by_the_next(api: Api, project: Project) -> None:
    """What cannot end within the grace time is suspended, and goes on in the process that the client starts next."""
    project.env["DOORWARD_HTTP__GRACE"] = "0.3"
    code = LONG.format(name="stdio-goes-on")
    outcomes = []
    async with project.stdio() as agent, anyio.create_task_group() as group:

        async def run() -> None:
            outcomes.append(await agent.call("execute_code", code=code))

        await agent.value("1")  # the SDK's client asks for the schema of answers once
        group.start_soon(run)
        assert await anyio.to_thread.run_sync(api.marked, "stdio-goes-on")
        os.kill(serving_pid(project), signal.SIGTERM)
    assert outcomes[0]["waiting"]["for"] == "stop"
    with api.hurried():
        async with project.stdio() as agent:
            assert (await agent.call("resume_run", run=outcomes[0]["waiting"]["run"]))["value"] == 279
    assert len([each for each in api.seen() if each["path"] == "/mark/stdio-goes-on"]) == 1


@pytest.mark.parametrize("told", [False, True], ids=["alone", "after SIGTERM"])
def test_stdio_nothing_waits_for_a_client_that_is_gone(api: Api, project: Project, told: bool) -> None:
    """The end of the input ends what runs, however long the grace time is, and the audit log says so. What is stored
    of it can be resumed."""
    project.env |= {"DOORWARD_HTTP__GRACE": "3600", "DOORWARD_RUNS__DURABLE": "always"}
    name = f"stdio-gone-{told}"
    with Wire(project) as wire:
        wire.connect().start(SLOW.format(name=name))
        assert api.marked(name)
        if told:
            wire.process.send_signal(signal.SIGTERM)
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(20) == 0
    assert "Traceback" not in project.said()
    last = [line for line in project.audit() if line["event"] == "run_finished"][-1]
    assert last["error"] == "limit:Cancelled"
    (stored,) = json.loads(project.run("runs", "list", "--json").stdout)["runs"]
    assert (stored["state"], "cannot" in stored) == ("interrupted", False)
