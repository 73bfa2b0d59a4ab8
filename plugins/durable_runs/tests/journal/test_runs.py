"""Runs that wait, stop or die, and go on in another gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from doorward import Call, Wait
from doorward.calls.broker import Broker
from doorward.model.errors import ApiError, GuardRefused, SecretWithheld, StateError
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.journal.recorder import Journal
from doorward_durable_runs.storage.store_runs import StoreRuns, _Held
from doorward_testing.samples import CONFIG, Weather

from .conftest import ALWAYS

pytestmark = pytest.mark.anyio

PROGRAM = """
done = []
for city in ["Oslo", "Bergen", "Rome"]:
    done.append((await weather.get_forecast(city=city))["city"])
    done.append((await weather.add_station(city=city))["city"])
    print(city)
result = done
"""
DONE = ["Oslo", "Oslo", "Bergen", "Bergen", "Rome", "Rome"]


@pytest.fixture
def asks(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Cities whose stations wait for a person's yes: nobody is asked about others."""
    waiting = {"Bergen"}

    async def decide(broker: Any, way: Any, *given: Any) -> None:
        await decided(broker, way, *given)
        if way.call.arguments.get("city") in waiting and not way.function.read_only:
            await way.run.wait(Wait("approval", f"may {way.call.function.qualified} be called?"))

    decided = Broker._decide
    monkeypatch.setattr(Broker, "_decide", decide)
    return waiting


async def test_a_run_that_waits_goes_on_in_another_gateway(
    doorward_host: Any, calls: list[str], asks: set[str]
) -> None:
    """Its outcome says what it waits for; afterwards it is as if it had never waited. Only what was not made yet is
    called, and its answer is kept as that of any run is."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(PROGRAM)
        assert (outcome.ok, outcome.error) == (False, None)
        assert outcome.waiting.for_ == "approval"
        assert outcome.waiting.what == ("may weather.add_station be called?",)
        assert outcome.waiting.next == f'resume_run("{outcome.waiting.run}")'
        (stored,) = await gate.services[STORED_RUNS].journals.store.all("local")
        assert (stored.given.run, stored.state) == (outcome.waiting.run, "waiting")
    assert calls == ["get_forecast Oslo", "add_station Oslo", "get_forecast Bergen"]
    async with doorward_host.gateway(CONFIG) as gate:
        again = await gate.services[STORED_RUNS].resume(outcome.waiting.run)
        assert again.waiting is not None
        asks.clear()
        resumed = await gate.services[STORED_RUNS].resume(outcome.waiting.run)
        assert (resumed.value, resumed.printed) == (DONE, "Oslo\nBergen\nRome\n")
        assert {(c["function"], c["count"]) for c in resumed.calls} == {
            ("weather.get_forecast", 3),
            ("weather.add_station", 3),
        }
        assert await gate.services[STORED_RUNS].resume(outcome.waiting.run) == replace(resumed, cache_id="", next="")
    assert calls[3:] == ["add_station Bergen", "get_forecast Rome", "add_station Rome"]


async def test_nobody_else_resumes_a_run(doorward_host: Any, asks: set[str]) -> None:
    """And whoever asks for a run that is not there is told of their own alone."""
    async with doorward_host.gateway(CONFIG) as gate:
        waiting = (await gate.execute(PROGRAM, principal="ada")).waiting
        refused = await gate.services[STORED_RUNS].resume(waiting.run, principal="eve")
        assert (refused.error.type, waiting.run in str(refused.error.hint)) == ("UnknownName", False)
        told = await gate.services[STORED_RUNS].resume("f" * 16, principal="ada")
        assert waiting.run in told.error.hint


async def test_calls_beside_one_that_waits_are_made_once(doorward_host: Any, calls: list[str], asks: set[str]) -> None:
    code = """
import asyncio
result = await asyncio.gather(weather.add_station(city="Bergen"), weather.get_forecast(city="Rome"))
"""
    async with doorward_host.gateway(CONFIG) as gate:
        waiting = (await gate.execute(code)).waiting
        asks.clear()
        assert (await gate.services[STORED_RUNS].resume(waiting.run)).ok
    assert sorted(calls) == ["add_station Bergen", "get_forecast Rome"]


async def test_what_cannot_be_suspended_is_told(doorward_host: Any, asks: set[str]) -> None:
    """A single call, a run in a session, and all runs where nothing is stored."""
    async with doorward_host.gateway(CONFIG) as gate:
        single = await gate.answer("weather.add_station", {"city": "Bergen"})
        assert "it is a single call" in single.error.message
        session = await gate.execute(PROGRAM, session_id="new")
        assert "this run cannot wait for it" in session.error.message
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "never"')) as gate:
        outcome = await gate.execute(PROGRAM)
        assert "nothing is stored of it" in outcome.error.message
        assert (await gate.services[STORED_RUNS].journals.store.all()) == []


@pytest.mark.slow
async def test_runs_are_suspended_when_doorward_is_to_stop(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call in flight ends, and its answer is in the journal."""
    code = PROGRAM.replace('"Oslo", ', "").replace("done = []", "done = [str(await weather.sleep())]")
    released = anyio.Event()

    async def slept(_: float) -> None:
        await released.wait()

    monkeypatch.setattr("doorward_testing.samples.asyncio.sleep", slept)
    monkeypatch.setattr(Weather, "call", _sleeps(Weather.call))
    async with doorward_host.gateway(CONFIG) as gate, anyio.create_task_group() as tasks:
        outcomes = []
        tasks.start_soon(_into(outcomes, gate.execute, code))
        while "sleep None" not in calls:
            await anyio.wait_all_tasks_blocked()
        assert gate.suspend_runs("Doorward is to stop") == 0
        released.set()
    (outcome,) = outcomes
    assert (outcome.waiting.for_, outcome.waiting.what) == ("stop", ("Doorward is to stop",))
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.services[STORED_RUNS].resume(outcome.waiting.run)).value == [
            "Oslo",
            "Bergen",
            "Bergen",
            "Rome",
            "Rome",
        ]
    assert calls.count("sleep None") == 1


def _sleeps(call: Any) -> Any:
    async def answered(self: Weather, asked: Call) -> Any:
        if asked.function.name == "sleep":
            asked = Call(asked.function, {**asked.arguments, "city": None})
            await call(self, asked)
            return "Oslo"
        return await call(self, asked)

    return answered


def _into(outcomes: list[Any], work: Any, *arguments: Any) -> Any:
    async def run() -> None:
        outcomes.append(await work(*arguments))

    return run


async def test_a_program_that_behaves_differently_is_stopped(
    doorward_host: Any, calls: list[str], asks: set[str]
) -> None:
    """Both versions of the call are shown, nothing is sent, and the program cannot do anything about it."""
    code = """
import builtins
builtins.tries = getattr(builtins, "tries", 0) + 1
try:
    await weather.add_station(city="Oslo" if builtins.tries == 1 else "Paris")
except Exception:
    pass
await weather.add_station(city="Bergen")
"""
    async with doorward_host.gateway(CONFIG) as gate:
        waiting = (await gate.execute(code)).waiting
        asks.clear()
        calls.clear()
        error = (await gate.services[STORED_RUNS].resume(waiting.run)).error
    assert error.type == "ProgramDiverged"
    assert 'weather.add_station [[], {"city": "Oslo"}]' in error.message
    assert 'weather.add_station [[], {"city": "Paris"}]' in error.message
    assert calls == []


@pytest.mark.parametrize("durable", ["always", "waits"])
async def test_errors_and_files_are_recorded(doorward_host: Any, asks: set[str], durable: str) -> None:
    """A program that catches errors and reads files does so again, in a gateway that has none of these files."""
    code = """
told = []
try:
    await weather.fail()
except Exception as error:
    told.append([type(error).__name__, str(error), error.status, error.body])
picture = await weather.raw(map=True)
told.append(picture)
await weather.add_station(city="Bergen")
result = [*told, str(await doorward.read(picture))]
"""
    config = CONFIG.replace("plugins = []", f'plugins = []\nruns.durable = "{durable}"')
    async with doorward_host.gateway(config) as gate:
        waiting = (await gate.execute(code)).waiting
    asks.clear()
    async with doorward_host.gateway(config) as gate:
        outcome = await gate.services[STORED_RUNS].resume(waiting.run)
        assert outcome.ok, outcome
        (kind, message, status, body), picture, content = outcome.value
        assert (kind, status) == ("ApiError", 404)
        assert message.startswith("404: no such city")
        assert body == {"token": ""}
        assert content == str(b"\x00\x01")
        assert (await gate.file(picture["artefact"])).type == "image/png"


@pytest.mark.slow
async def test_a_run_whose_answers_are_too_many_goes_on_but_not_again(doorward_host: Any, asks: set[str]) -> None:
    """What is stored of it then says so: nobody who resumes it sends again what it sent since."""
    code = (
        "await weather.add_station(city='Rome')\nawait weather.big()\nresult = await weather.add_station(city='Oslo')"
    )
    config = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"\nruns.max_bytes = 1000')
    async with doorward_host.gateway(config) as gate:
        assert (await gate.execute(code)).ok
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert "more than is stored" in stored.lost
        asks.add("Oslo")
        outcome = await gate.execute(code)
        assert "this run cannot wait for it: its answers are more than is stored" in outcome.error.message


@pytest.mark.parametrize("caught", [False, True])
@pytest.mark.parametrize("room", [0, 1, 3, 4])
async def test_nothing_is_sent_that_could_not_be_stored_before(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch, room: int, caught: bool
) -> None:
    """The run ends, whatever its program does about that. Its agent is told what was sent, what was not, and how it
    goes on once there is room; then each write has been made once, or its answer is known to be lost."""
    append, left = _Held.append, [room]

    async def full(self: _Held, said: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise StateError("the disk is full", hint="Tell the operator.")
        return await append(self, said)

    code = PROGRAM if not caught else "try:\n" + PROGRAM.replace("\n", "\n    ") + "\nexcept Exception:\n    pass"
    async with doorward_host.gateway(ALWAYS) as gate:
        with monkeypatch.context() as patch:
            patch.setattr(_Held, "append", full)
            outcome = await gate.execute(code)
        before = [*calls]
        assert outcome.error.type == "StateError"
        function = "get_forecast" if not room else "add_station"
        assert (
            f"weather.{function} was not called, because nothing can be stored before: the disk"
            in outcome.error.message
        )
        if not room:
            assert (before, outcome.error.hint) == (
                [], "No call of this run was made. Tell the operator. Then run the program again."
            )  # fmt: skip
            return
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        run = stored.given.run
        assert outcome.error.hint.startswith("The calls before it were made, see `calls`. Tell the operator")
        assert outcome.error.hint.endswith(f'Then resume_run("{run}") goes on from here; no write is made twice.')
        assert sum(call["count"] for call in outcome.calls if call["ok"]) == len(before)
        again = await gate.services[STORED_RUNS].resume(run)
        if again.waiting is not None:
            assert again.waiting.for_ == "unknown"
            assert (await gate.services[STORED_RUNS].journals.answer(run, again=False)) == 1
        else:
            assert again.value == DONE
            assert [call for call in calls if "station" in call] == [f"add_station {city}" for city in DONE[::2]]


async def test_a_run_that_could_not_be_stored_is_not_resumed(
    doorward_host: Any, calls: list[str], asks: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full, or its process died just then: else its writes went out twice."""
    append = _Held.append

    async def full(self: _Held, said: Any) -> int:
        raise StateError("the disk is full")

    async with doorward_host.gateway(CONFIG) as gate:
        monkeypatch.setattr(_Held, "append", full)
        outcome = await gate.execute(PROGRAM)
        assert outcome.error.message == "this run has to wait, and that cannot be stored: the disk is full"
        assert outcome.error.hint == "It cannot be resumed: what it did, see `calls`, is done."
        monkeypatch.setattr(_Held, "append", append)
        asks.clear()
        before = [*calls]
        assert await gate.services[STORED_RUNS].journals.store.all("local") == []
        assert (
            await gate.services[STORED_RUNS].resume("0" * 16)
        ).error.hint == "Runs are kept for a while only, and belong to one principal."
        assert "add_station Oslo" in before
        assert calls == before


@pytest.mark.parametrize("native", [False, True])
async def test_a_run_whose_client_left_says_so(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    """It is not taken for one whose process died, and goes on all the same; then it is over."""
    monkeypatch.setattr("doorward_testing.samples.asyncio.sleep", lambda _: anyio.sleep_forever())
    async with doorward_host.gateway(ALWAYS) as gate:
        await _cancelled(partial(gate.execute, "result = await weather.sleep()"), lambda: calls, native)
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert stored.state == "interrupted"
        unknown = await gate.services[STORED_RUNS].resume("0" * 16)
        assert f"{stored.given.run} (it was interrupted: its client left" in unknown.error.hint
        monkeypatch.setattr("doorward_testing.samples.asyncio.sleep", lambda _: anyio.lowlevel.checkpoint())
        assert (await gate.services[STORED_RUNS].resume(stored.given.run)).waiting is None
        assert (await gate.services[STORED_RUNS].journals.store.show(stored.given.run)).state == "ended"


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("what", ["claim", "suspend"])
async def test_who_leaves_in_the_middle_holds_no_run(
    doorward_host: Any, calls: list[str], asks: set[str], monkeypatch: pytest.MonkeyPatch, what: str, native: bool
) -> None:
    """Neither while a stored run is claimed, nor while it is stored: whoever comes next has it."""
    begun, go = Event(), Event()

    def slowly(work: Any) -> Any:
        async def do(*given: Any) -> Any:
            begun.set()
            while not go.is_set():
                await anyio.sleep(0)
            return await work(*given)

        return do

    async with doorward_host.gateway(CONFIG) as gate:
        run = (await gate.execute(PROGRAM)).waiting.run
        asks |= {"Rome"} if what == "suspend" else set()
        asks -= {"Bergen"}
        with monkeypatch.context() as patch:
            where, name = (StoreRuns, "_claim") if what == "claim" else (Journal, what)
            patch.setattr(where, name, slowly(getattr(where, name)))
            await _cancelled(partial(gate.services[STORED_RUNS].resume, run), begun.is_set, native, go.set)
        asks.clear()
        stored = await gate.services[STORED_RUNS].journals.store.show(run)
        assert stored.state == ("interrupted" if what == "claim" else "waiting")
        assert (await gate.services[STORED_RUNS].resume(run)).value == DONE
    assert [call for call in calls if "station" in call] == [f"add_station {city}" for city in DONE[::2]]


async def _cancelled(
    work: Callable[[], Any], begun: Callable[[], Any], native: bool, after: Callable[[], Any] = lambda: None
) -> None:
    """Have work cancelled once it has begun: by a scope of anyio, or as a task of asyncio."""

    async def do() -> None:
        with scope:
            await work()

    scope = anyio.CancelScope()
    task = asyncio.ensure_future(do())
    while not begun():
        await anyio.sleep(0.01)
    task.cancel() if native else scope.cancel()
    await anyio.sleep(0.01)
    after()
    await asyncio.wait([task])


def test_errors_stay_what_they_are() -> None:
    from doorward_durable_runs.journal.errors import raised, said

    class Own(ApiError):
        """Of a plugin."""

    for error in (
        Own("no", status=404, body={"a": 1}, retry_after=2.0),
        GuardRefused("g", hint="h"),
        SecretWithheld("s"),
    ):
        again = raised(said(error))
        assert isinstance(error, type(again))
        assert type(again) is not Exception
        assert (again.message, again.hint) == (error.message, error.hint)
    api = raised(said(Own("no", status=404, body={"a": 1}, retry_after=2.0)))
    assert isinstance(api, ApiError)
    assert (type(api), api.status, api.body, api.retry_after) == (ApiError, 404, {"a": 1}, 2.0)


@pytest.mark.slow
async def test_a_run_goes_on_with_what_it_was_given(doorward_host: Any, asks: set[str]) -> None:
    """How much of a value is shown; and what only looks like a file, because a server wrote its URI, is still none."""
    made_up = "doorward://results/AAAAAAAAAAAAAAAAAAAAAA"
    code = f"""
seen = await weather.add_station(city={made_up!r})
await weather.add_station(city="Bergen")
result = [await doorward.read(seen["city"]), "x" * 500]
"""
    async with doorward_host.gateway(CONFIG) as gate:
        waits = (await gate.execute(code, show_bytes=300)).waiting
    asks.clear()
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.services[STORED_RUNS].resume(waits.run)
        assert outcome.ok, outcome.error
        assert outcome.truncated is not None
        assert made_up in str(outcome.value)


async def test_a_run_whose_files_cannot_be_stored_is_resumed_later(
    doorward_host: Any, asks: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing holds its journal meanwhile."""
    code = 'picture = await weather.raw(map=True)\nawait weather.add_station(city="Bergen")\nresult = "done"'

    async def refused(*given: Any, **named: Any) -> None:
        raise StateError("the disk is full")

    async with doorward_host.gateway(CONFIG) as gate:
        run = (await gate.execute(code)).waiting.run
        asks.clear()
        with monkeypatch.context() as full:
            full.setattr(type(gate.artefacts), "restore", refused)
            assert "the disk is full" in (await gate.services[STORED_RUNS].resume(run)).error.message
        assert (await gate.services[STORED_RUNS].resume(run)).value == "done"
