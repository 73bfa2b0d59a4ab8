"""Servers that are started: what they get, how they end, and what happens when they misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doorward import LimitExceeded, ServerError
from doorward_mcp_upstream.upstream import Upstream

from .conftest import RAW, LoginPrompt, Upstreams, alive, call_of, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def tool(upstream: Upstream, name: str, safe: bool = False, **arguments: object) -> str:
    return text_of(await upstream.request("tools/call", {"name": name, "arguments": arguments}, safe=safe))


async def pid_of(upstream: Upstream) -> int:
    return int(await tool(upstream, "pid"))


@pytest.mark.parametrize("era", ["", "legacy"])
async def test_a_server_is_started_by_its_first_call_and_spoken_with_in_its_era(upstreams: Upstreams, era: str) -> None:
    """CONTRACT: MCP-01, EXE-11, EXE-12: nothing is started before the first call, and one process serves all."""
    upstream = upstreams.sdk(era=era)
    assert upstream._connection is None
    assert json.loads(await tool(upstream, "echo", text="hällo\n")) == {"text": "hällo\n"}
    pid = await pid_of(upstream)
    listing = await upstream.listing()
    assert listing.era == ("2025-11-25" if era else "2026-07-28")
    assert [t["name"] for t in listing.tools][:2] == ["echo", "write"]
    assert listing.server == {"name": "fixture", "version": "1"}
    assert listing.instructions == "Be kind."
    assert "tools" in listing.capabilities
    assert await pid_of(upstream) == pid
    await upstream.close()
    assert not alive(pid)


async def test_it_gets_its_own_environment_and_none_of_ours(
    upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths start at the configuration's folder. CONTRACT: MCP-01, MCP-12, AUT-14"""
    monkeypatch.setenv("OUR_TOKEN", "t0p-secret")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    (upstreams.folder / "work").mkdir()
    upstream = upstreams.raw("", env={"GIVEN": "${OUR_TOKEN}", "HOME": "/nowhere"}, cwd="work")
    seen = json.loads(await tool(upstream, "environment"))
    assert seen.pop("cwd") == str(upstreams.folder / "work")
    assert {
        "GIVEN": "t0p-secret",
        "HOME": "/nowhere",
        "LC_TIME": "C.UTF-8",
        "DOORWARD_NESTED": "1",
    }.items() <= seen.items()
    ours = {"PATH", "LANG", "LANGUAGE", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"}
    assert {n for n in seen if not n.startswith("LC_")} <= ours | {"GIVEN", "HOME", "DOORWARD_NESTED"}
    assert upstreams.secrets.scrub("it is t0p-secret") == "it is [secret]"


async def test_relative_paths_start_at_the_configuration(upstreams: Upstreams) -> None:
    script = upstreams.folder / "bin" / "server"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {RAW} "$@"\n')
    script.chmod(0o700)
    upstream = upstreams(command="./bin/server", args=["plain"])
    assert json.loads(await tool(upstream, "environment"))["cwd"] == str(upstreams.folder)


async def test_what_cannot_be_started_is_named(upstreams: Upstreams) -> None:
    with pytest.raises(ServerError, match="there is no program 'no-such-program'") as caught:
        await tool(upstreams(command="no-such-program -y x"), "echo")
    assert "Install it" in str(caught.value.hint)
    with pytest.raises(ServerError, match="there is no folder"):
        await tool(upstreams.sdk(cwd="missing"), "echo")
    (upstreams.folder / "text").write_text("no program")
    (upstreams.folder / "text").chmod(0o755)
    with pytest.raises(ServerError, match="cannot be started: Exec format error"):
        await tool(upstreams(command="./text"), "echo")


async def test_one_that_crashes_at_the_start_is_quoted(upstreams: Upstreams) -> None:
    with pytest.raises(ServerError, match="exited with status 3") as caught:
        await upstreams.raw("crash").listing()
    assert "no such module 'cheese'" in str(caught.value)
    assert "may have been done" not in str(caught.value.hint)  # it was only asked what it can do
    log = upstreams.state / "stderr.log"
    assert "no such module 'cheese'" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_silent_one_is_given_up(upstreams: Upstreams) -> None:
    with pytest.raises(ServerError, match=r"did not start within 0\.5 seconds") as caught:
        await upstreams.raw("silent", start_timeout=0.5).listing()
    assert "start_timeout" in str(caught.value.hint)


async def test_a_call_without_an_answer_is_given_up_and_the_others_are_not(upstreams: Upstreams, later: Any) -> None:
    upstream = upstreams.raw("", timeout=100)
    await tool(upstream, "echo")
    silent = asyncio.create_task(tool(upstream, "silent"))
    assert await tool(upstream, "echo") == "{}"  # the silent one was asked before
    later(60)
    assert await tool(upstream, "echo") == "{}"
    later(60)
    assert await tool(upstream, "echo") == "{}"
    with pytest.raises(ServerError, match=r"did not answer within 100 seconds"):
        await silent
    with pytest.raises(LimitExceeded, match=r"did not answer within 0\.\d+ seconds"):
        await upstream.request("tools/call", {"name": "silent"}, call=call_of(None, 0.5))
    assert await tool(upstream, "echo") == "{}"


async def test_one_that_dies_in_a_call_is_quoted_and_started_again(upstreams: Upstreams) -> None:
    upstreams.secrets.remember("s3cret-value")
    upstream = upstreams.raw("")
    with pytest.raises(ServerError, match="SIGKILL") as caught:
        await tool(upstream, "die")
    assert "out of cheese: the token is [secret]" in str(caught.value)
    assert "not repeated" in str(caught.value.hint)
    assert "s3cret" not in (upstreams.state / "stderr.log").read_text()
    assert await tool(upstream, "echo") == "{}"


async def test_a_shared_one_is_not_quoted_to_a_principal(upstreams: Upstreams) -> None:
    """What one principal sent may stand in its standard error: the others are told where the operator finds it."""
    call = replace(call_of(None), principal="ann")
    with pytest.raises(ServerError, match="SIGKILL") as caught:
        await upstreams.raw("").request("tools/call", {"name": "die"}, call=call)
    assert "cheese" not in f"{caught.value} {caught.value.hint}"
    assert "stderr.log" in str(caught.value.hint)
    assert "out of cheese" in (upstreams.state / "stderr.log").read_text()


@pytest.mark.slow
async def test_one_that_a_call_hung_is_started_anew(upstreams: Upstreams, later: Any, until: Any) -> None:
    """A process that answers nothing after a call was given up, not even a ping, is ended; the next call starts one."""
    upstream = upstreams.raw("", timeout=100)
    pid = await pid_of(upstream)
    os.kill(pid, signal.SIGSTOP)
    call = asyncio.create_task(tool(upstream, "echo"))
    await until(lambda: upstream._flights)
    later(101)
    with pytest.raises(ServerError, match="did not answer"):
        await call
    later(60)
    await until(lambda: upstream._connection is None)
    assert await pid_of(upstream) != pid
    await upstream.close()  # while the clocks are moved on


async def test_an_idle_death_is_noticed_at_once(upstreams: Upstreams, until: Any) -> None:
    upstream = upstreams.raw("")
    await tool(upstream, "echo")
    pid = await pid_of(upstream)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: upstream._connection is None)
    assert await tool(upstream, "write", id="1")  # not safe, and yet done: it was never sent to the dead one


async def test_banners_and_babble_are_passed_over(upstreams: Upstreams) -> None:
    """CONTRACT: SEC-14"""
    upstream = upstreams.raw("banner")
    assert await tool(upstream, "babble", a=1) == '{"a": 1}'
    assert await tool(upstream, "echo") == "{}"
    log = (upstreams.state / "stderr.log").read_text()
    assert "Welcome to raw!\n* banner *\n" in log
    assert "Starting the engine\n" in log
    assert "{not json" in log
    assert "\x1b" not in log
    assert "warning warning" in log
    assert len(log) < 1_100_000


async def test_large_answers_pass_and_too_large_ones_disturb_nobody(upstreams: Upstreams) -> None:
    upstream = upstreams.raw("")
    await tool(upstream, "echo")
    started = time.process_time()
    assert len(await tool(upstream, "big", bytes=10_000_000)) == 10_000_000
    assert time.process_time() - started < 2
    assert len(await tool(upstream, "big", bytes=50_000_000)) == 50_000_000
    pid = await pid_of(upstream)
    for name in ("big", "big_ts"):
        with pytest.raises(LimitExceeded, match="more than 64 MiB"):
            await tool(upstream, name, bytes=70_000_000)
    assert await tool(upstream, "echo") == "{}"
    assert await pid_of(upstream) == pid


async def test_what_the_sdk_would_refuse_is_handed_on(upstreams: Upstreams) -> None:
    result = await upstreams.raw("").request("tools/call", {"name": "odd"})
    assert result["content"][0] == {"type": "hologram", "data": 1}
    assert result["structuredContent"] == [1]
    assert result["more"] is True


async def test_an_answer_that_cannot_be_read_is_told_at_once(upstreams: Upstreams) -> None:
    upstream = upstreams.raw("")
    with pytest.raises(ServerError, match="not a JSON-RPC message"):
        await tool(upstream, "nonsense")
    assert await tool(upstream, "echo") == "{}"


async def test_a_server_may_not_ask_without_an_end(upstreams: Upstreams) -> None:
    person = LoginPrompt({"action": "accept", "content": {}})
    await upstreams.raw("").request("tools/call", {"name": "pestering"}, call=call_of(person))
    assert len(person.asked) == 25


async def test_the_last_known_era_is_tried_first_and_mends_itself(upstreams: Upstreams) -> None:
    log = upstreams.folder / "methods"
    legacy = upstreams.raw("", env={"LOG": str(log)})
    await legacy.request("tools/call", {"name": "echo"}, era="2025-11-25")
    assert log.read_text().split() == ["initialize", "notifications/initialized", "tools/call"]
    for mode, era, spoken in (("", "2026-07-28", "2025-11-25"), ("modern", "2025-11-25", "2026-07-28")):
        upstream = upstreams.raw(mode)
        await upstream.request("tools/call", {"name": "echo"}, era=era)
        assert (await upstream.listing()).era == spoken


async def test_idle_servers_are_disconnected(upstreams: Upstreams, until: Any) -> None:
    upstream = upstreams.raw("", idle=0.3)
    slow = asyncio.create_task(tool(upstream, "slow", seconds=0.6))
    assert await slow  # a call under way is not idle
    pid = await pid_of(upstream)
    await until(lambda: not alive(pid))
    assert await tool(upstream, "echo") == "{}"
    assert await pid_of(upstream) != pid
    await upstream.close()  # while the clocks are moved on


async def test_one_that_fails_again_and_again_is_left_alone_for_a_while(upstreams: Upstreams, later: Any) -> None:
    upstream = upstreams.raw("crash")
    for _ in range(3):
        with pytest.raises(ServerError, match="status 3"):
            await upstream.listing()
    with pytest.raises(ServerError, match=r"failed 3 times in a row.* [01]\.\d seconds") as caught:
        await upstream.listing()
    assert "status 3" in str(caught.value)
    assert "cheese" in str(caught.value)
    later(2)
    with pytest.raises(ServerError, match="status 3"):
        await upstream.listing()
    with pytest.raises(ServerError, match=r"failed 4 times in a row"):
        await upstream.listing()


async def test_a_cancelled_call_is_cancelled_there(upstreams: Upstreams, until: Any) -> None:
    for era in ("", "legacy"):
        log = upstreams.folder / f"calls {era}"
        upstream = upstreams.sdk(era=era, env={"LOG": str(log)})
        await tool(upstream, "echo")
        slow = asyncio.create_task(tool(upstream, "slow", seconds=3600))
        await until(lambda log=log: '"slow"' in log.read_text())
        slow.cancel()
        while await tool(upstream, "cancelled") != '["slow"]':
            await asyncio.sleep(0.02)


async def test_a_kill_in_the_middle_loses_no_safe_call_and_repeats_no_other(upstreams: Upstreams) -> None:
    """1,000 calls at 50 concurrent, and `kill -9` of the server after 400 of them. CONTRACT: EXE-11"""
    log = upstreams.folder / "calls"
    upstream = upstreams.raw("", env={"CALLS": str(log)})
    await tool(upstream, "echo")
    room = asyncio.Semaphore(50)
    first = await pid_of(upstream)
    done = failed = 0

    async def one(number: int) -> None:
        nonlocal done, failed
        safe = number % 2 == 0
        async with room:
            try:
                answer = await tool(
                    upstream, "echo" if safe else "write", safe, **{"text" if safe else "id": str(number)}
                )
                assert str(number) in answer
            except ServerError:
                assert not safe
                failed += 1
        done += 1
        if done == 400:
            os.kill(first, signal.SIGKILL)

    async with asyncio.TaskGroup() as group:
        for number in range(1000):
            group.create_task(one(number))
    assert done == 1000
    assert failed <= 50  # those under way
    written = [json.loads(line)[1]["id"] for line in log.read_text().splitlines() if '"write"' in line]
    assert len(written) == len(set(written))
    assert 500 - failed <= len(written) <= 500
    second = await pid_of(upstream)
    assert second != first
    await upstream.close()
    assert not alive(first)
    assert not alive(second)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stubborn", "family"])
async def test_nothing_of_its_family_is_left(upstreams: Upstreams, mode: str) -> None:
    """Neither of one that ignores everything but SIGKILL, nor of one that leaves a child behind."""
    pids = upstreams.folder / "pids"
    upstream = upstreams.raw(mode, env={"PIDS": str(pids)})
    await tool(upstream, "echo")
    family = [int(pid) for pid in pids.read_text().split()]
    assert all(alive(pid) for pid in family)
    await upstream.close()
    assert not any(alive(pid) for pid in family)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stubborn", "family"])
async def test_nothing_is_left_when_doorward_itself_is_killed(tmp_path: Path, mode: str, until: Any) -> None:
    program = f"""
import asyncio, os, pathlib
from doorward import ServerContext, Template
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.upstream import Upstream
here = pathlib.Path({str(tmp_path)!r})
settings = MCPSettings(command=[{sys.executable!r}, {RAW!r}, {mode!r}], env={{"PIDS": str(here / "pids")}})
async def main():
    await Upstream(ServerContext("x", settings, here, here / "state")).listing()
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    doorward = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert doorward.stdout is not None
    assert doorward.stdout.readline() == b"ready\n"
    family = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    doorward.kill()
    doorward.wait()
    await until(lambda: not any(alive(pid) for pid in family))


async def test_doorward_does_not_start_itself(upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever hides it: it says its name, and what it starts knows that it was started. CONTRACT: SEC-13, MCP-13"""
    with pytest.raises(ServerError, match="it is Doorward itself") as caught:
        await upstreams.raw("", env={"NAME": "doorward"}).listing()
    assert "allow_self" in str(caught.value.hint)
    assert await upstreams.raw("", env={"NAME": "doorward"}, allow_self=True).listing()
    monkeypatch.setenv("DOORWARD_NESTED", "1")
    with pytest.raises(ServerError, match="was itself started by Doorward"):
        await upstreams.raw("").listing()
    upstream = upstreams.raw("", allow_self=True)
    assert "DOORWARD_NESTED" not in json.loads(await tool(upstream, "environment"))


async def test_progress_reaches_the_client_and_is_not_asked_for_without_one(upstreams: Upstreams, until: Any) -> None:
    person = LoginPrompt()
    upstream = upstreams.sdk()
    await upstream.request("tools/call", {"name": "steps"}, call=call_of(person))
    await until(lambda: len(person.progressed) == 3)
    assert person.progressed == [(1.0, 3.0, "step 1"), (2.0, 3.0, "step 2"), (3.0, 3.0, "step 3")]
    await upstream.request("tools/call", {"name": "steps"}, call=call_of(None))
