"""SIGTERM over HTTP: what runs comes to its end within the grace time, what comes later is told, then all ends well."""

from __future__ import annotations

import signal
import time

import anyio
import httpx2
import pytest

from .product import Api, Project, connected, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SLOW = "import shelf\nshelf.mark(name='{name}')\nshelf.slow(ms={ms})\nresult = 'done'"


def ready(url: str) -> tuple[int, str]:
    answer = httpx2.get(url.replace("/mcp", "/readyz"), headers={"Host": "10.0.0.7"})
    return answer.status_code, answer.text


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_what_runs_ends_and_what_comes_is_told(api: Api, project: Project, era: str) -> None:
    """A program that is running when SIGTERM comes is answered; one that comes afterwards has not run, and its agent is
    told to try again; `/readyz` says that no more is taken, and the server ends with 0."""
    code = SLOW.format(name=f"drains-{era}", ms=1500)
    with project.http() as (url, serving):
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
        assert outcomes[0]["value"] == "done"
        assert until(lambda: serving.poll() is not None)
    assert serving.returncode == 0
    assert "Traceback" not in project.said()


@pytest.mark.parametrize("second", [False, True], ids=["grace", "second signal"])
async def test_what_takes_longer_is_ended(api: Api, project: Project, second: bool) -> None:
    """After the grace time, or at a second signal, what still runs is ended and its client told."""
    project.env["DOORWARD_HTTP__GRACE"] = "60" if second else "0.3"
    name = f"late-{second}"
    with project.http() as (url, serving):
        failed = []
        async with connected(url) as agent, anyio.create_task_group() as group:

            async def run() -> None:
                try:
                    await agent.call("execute_code", code=SLOW.format(name=name, ms=29000))
                except Exception as error:
                    failed.append(str(error))

            group.start_soon(run)
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
    code = f"import shelf\nshelf.mark(name='{name}')\nfor n in range(30):\n    shelf.slow(ms=100)\nresult = n"
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
    with project.http() as (url, _):
        async with connected(url, era) as agent:
            assert "resume_run" in {tool.name for tool in (await agent.client.list_tools()).tools}
            assert (await agent.call("resume_run", run=waiting["run"]))["value"] == 29
    assert [each["path"] for each in api.seen() if name in str(each)] == [f"/mark/{name}"]
