"""What a client keeps works after its server has died, and at another server of the same state folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
import pytest
from doorward import Compiled, Function, hookimpl
from doorward_durable_runs import STORED_RUNS
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG
from mcp import MCPError
from mcp.client.client import Client

from .test_client_requests import CONFIG as ASKING
from .test_client_requests import Asks, red

pytestmark = pytest.mark.anyio
ALWAYS = 'plugins = []\nruns.durable = "always"'
CODE = """
forecast = await weather.get_forecast(city="Oslo")
stations = [await weather.add_station(city=city) for city in ("Oslo", "Rome")]
result = len(stations)
"""
YES = {"1": t.ElicitResult(action="accept", content={"colour": "red"})}


class AsksAgain(Asks):
    """Its functions only read: a call that was cut off is simply made again."""

    async def compile(self) -> Compiled:
        return Compiled([Function(self.name, name, read_only=True) for name in ("colour", "sleep")])


@pytest.fixture(autouse=True)
def asking(doorward_host: Any) -> None:
    doorward_host.install("source", "asking", AsksAgain)
    doorward_host.install_real("runs")


@pytest.fixture
def lasting(doorward_host: Any) -> None:
    """Runs that are always durable need a store that lasts."""
    doorward_host.install_real("doorward-store-sqlite")


@asynccontextmanager
async def served(doorward_host: Any, config: str) -> AsyncIterator[tuple[Client, Any]]:
    """A server of its own in the state folder that all share, and a client of it."""
    async with doorward_host.gateway(config) as gate:
        server = build(gate)
        async with Client(server, elicitation_callback=red) as client:
            yield client, gate


async def asked(client: Client, code: str, state: str | None = None) -> Any:
    """The answer of `execute_code`, which may be a question; with a `state`, that to the answer YES."""
    more = {"input_responses": YES, "request_state": state} if state else {}
    return await client.session.call_tool("execute_code", {"code": code}, allow_input_required=True, **more)


@pytest.mark.usefixtures("lasting")
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_that_wants_progress_is_told_the_run(doorward_host: Any, era: str) -> None:
    """Before the first call goes out, with what to do; the numbers that follow grow."""
    told: list[Any] = []
    sent: list[int] = []

    class Sees:
        @hookimpl
        def guard_call(self, call: Any) -> None:
            sent.append(len(told))

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    doorward_host.install("plugin", "sees", Sees())
    config = CONFIG.replace("plugins = []", ALWAYS.replace("[]", '["sees"]'))
    async with doorward_host.gateway(config) as gate, Client(build(gate), mode=era) as client:
        answer = await client.call_tool("execute_code", {"code": CODE}, progress_callback=progress)
        assert answer.structured_content["value"] == 2
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert told == [
            (1, f'run {stored.given.run} is stored: resume_run("{stored.given.run}") if its answer is lost')
        ]
        assert (await client.call_tool("execute_code", {"code": CODE})).structured_content["ok"]
    assert len(told) == 1


@pytest.mark.usefixtures("lasting")
async def test_resume_run_lists_and_gives_up(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that lost an answer finds the run, and is stopped if it sends its program again; it may decide that."""
    held, holds = asyncio.Event(), [True]
    from doorward_testing.samples import Weather

    call = Weather.call

    async def held_up(self: Any, asked: Any) -> Any:
        if holds[0] and asked.arguments.get("city") == "Rome":
            held.set()
            await asyncio.Event().wait()
        return await call(self, asked)

    monkeypatch.setattr(Weather, "call", held_up)
    config = CONFIG.replace("plugins = []", ALWAYS)
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        lost = asyncio.ensure_future(client.call_tool("execute_code", {"code": CODE}))
        await held.wait()
        lost.cancel()
        await asyncio.wait([lost])
        while (await gate.services[STORED_RUNS].journals.store.all())[0].state == "running":
            await asyncio.sleep(0)
        holds[0] = False
        (listed,) = (await client.call_tool("resume_run", {})).structured_content["value"]
        assert listed["sent"].startswith("weather.add_station ×2")
        again = await client.call_tool("execute_code", {"code": CODE})
        assert again.structured_content["error"]["type"] == "RunInterrupted"
        assert f'resume_run("{listed["run"]}", give_up=true)' in again.content[0].text
        waits = await client.call_tool("resume_run", {"run": listed["run"]})
        assert waits.structured_content["waiting"]["for"] == "unknown"
        assert not waits.is_error  # it is not over
        given_up = await client.call_tool("resume_run", {"run": listed["run"], "give_up": True})
        assert given_up.structured_content["ok"]
        assert (await client.call_tool("execute_code", {"code": CODE})).structured_content["value"] == 2
        assert (await client.call_tool("resume_run", {})).structured_content["value"] == []


async def test_one_process_asks_and_another_gets_the_answer(doorward_host: Any) -> None:
    """It hands it on, and the result back: a further question too, and the error of an answer that came twice."""
    code = "[await weather.colour(), await weather.colour()]"
    async with served(doorward_host, ASKING) as (one, _), served(doorward_host, ASKING) as (two, _):
        first = await asked(one, code)
        second = await asked(two, code, first.request_state)
        assert isinstance(second, t.InputRequiredResult)
        assert list(second.input_requests) == ["2"]
        twice = await asked(two, code, first.request_state)
        assert "has been answered already" in twice.content[0].text
        answers = {"2": YES["1"]}
        done = await one.session.call_tool(
            "execute_code", {"code": code}, input_responses=answers, request_state=second.request_state
        )
        assert done.structured_content["value"] == [["accept", "red"]] * 2


async def test_a_request_that_is_cancelled_ends_the_run_over_there(doorward_host: Any) -> None:
    """As it ends one of the process itself."""
    code = "[await weather.colour(), await weather.sleep(seconds=3600)]"
    async with served(doorward_host, ASKING) as (one, gate), served(doorward_host, ASKING) as (two, _):
        first = await asked(one, code)
        assert isinstance(first, t.InputRequiredResult), first
        waits = asyncio.ensure_future(asked(two, code, first.request_state))
        while not any(run.made == 2 for run in gate.execution.under_way):
            await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait([waits])
        while gate.execution.under_way:
            await asyncio.sleep(0)


@pytest.mark.usefixtures("lasting")
async def test_an_answer_finds_the_run_of_a_server_that_is_gone(doorward_host: Any) -> None:
    """The run goes on in the next server, which asks once more; nobody else's answer does that."""
    config = ASKING.replace("plugins = []", ALWAYS)
    async with served(doorward_host, config) as (one, _):
        first = await asked(one, "await weather.colour()")
    async with served(doorward_host, config) as (two, gate):
        again = await asked(two, "await weather.colour()", first.request_state)
        assert isinstance(again, t.InputRequiredResult)
        done = await asked(two, "await weather.colour()", again.request_state)
        assert done.structured_content["value"] == ["accept", "red"]
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert stored.state == "ended"
        with pytest.raises(MCPError, match="requestState"):
            await asked(two, "await weather.colour() # other", again.request_state)


async def test_an_answer_to_a_run_that_is_stored_nowhere_says_so(doorward_host: Any) -> None:
    """Where `durable` is "waits", a run that asks is not stored."""
    async with served(doorward_host, ASKING) as (one, _):
        first = await asked(one, "await weather.colour()")
    async with served(doorward_host, ASKING) as (two, _):
        over = await asked(two, "await weather.colour()", first.request_state)
        assert "the run that asked is over" in over.content[0].text


async def test_what_another_process_has_is_said_to_be_there(doorward_host: Any) -> None:
    """A session; not any more once that process is gone. A result lies in the store, which here is each process's own."""
    code = f"'x' * {2**15}"
    async with served(doorward_host, ASKING) as (two, _):
        async with served(doorward_host, ASKING) as (one, _):
            session = (await one.call_tool("execute_code", {"code": "1", "session_id": "new"})).structured_content
            result = (await one.call_tool("execute_code", {"code": code})).structured_content["truncated"]["rest"]
            asks = {"code": "1", "session_id": session["session_id"]}
            told = await two.call_tool("execute_code", asks)
            assert "belongs to another process that shares this state folder" in told.content[0].text
        assert "there is no session" in (await two.call_tool("execute_code", asks)).content[0].text
        with pytest.raises(MCPError, match="there is no result"):
            await two.read_resource(result)


async def test_the_key_of_states_is_for_this_user_alone(doorward_host: Any) -> None:
    """It is made once, and is in a file that nobody else can read."""
    async with served(doorward_host, ASKING) as (_, gate):
        file = gate.state / "states.key"
        key = file.read_bytes()
        assert (file.stat().st_mode & 0o777, len(key)) == (0o600, 32)
    async with served(doorward_host, ASKING):
        assert file.read_bytes() == key
