"""What layers and observers of plugins see of runs that are stored, resumed, played again and planned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from doorward import (
    Call,
    CallLayer,
    Capabilities,
    Outcome,
    Refused,
    Reply,
    Run,
    RunLayer,
    StateKey,
    Wait,
)
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.plans import PLANS
from doorward_testing import Host
from doorward_testing.layered import opened
from doorward_testing.samples import CONFIG, InProcess

pytestmark = pytest.mark.anyio

READ = "weather.get_forecast"
Proceed = Callable[[], Awaitable[Reply]]
Ends = Callable[[], Awaitable[Outcome]]


class Unread(InProcess):
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans_unread=True)


class Planned(InProcess):
    """Plans programs that do not look at what their writes answer."""

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans=True)


async def test_it_stands_around_a_plan_and_its_commit(doorward_host: Host) -> None:
    """The commit as a whole, reads that are made again and all."""
    runs: list[Any] = []
    key = StateKey[list[str]]("mine", list)

    async def noting(run: Run, proceed: Ends) -> Outcome:
        runs.append(run.state[key])
        outcome: Outcome = await proceed()
        run.note(f"{len(run.state[key])} calls")
        return outcome

    async def counting(run: Run, call: Call, proceed: Proceed) -> Reply:
        run.state[key].append(call.function.name)
        return await proceed()

    doorward_host.install("executor", "plans", Planned)
    config = CONFIG.replace("inprocess", "plans")
    gateway, seen = opened(doorward_host, config=config, calls=[CallLayer("a", counting)], runs=[RunLayer("a", noting)])
    code = "await weather.get_forecast(city='Oslo')\nawait weather.add_station(city='Oslo')\nresult = 1"
    async with gateway as gate:
        plan = (await gate.execute(code, mode="plan")).parts["plan"].id
        assert runs == [["get_forecast"]]  # a write that is withheld is not made
        seen.finished.clear()
        committed = await gate.services[PLANS].commit(plan)
        assert committed.ok, committed
        assert "2 calls" in committed.notes
        assert runs[1:] == [["get_forecast", "add_station"]]
        assert len(seen.finished) == 1


async def test_a_resumed_run_comes_again(doorward_host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so; one that is refused then is not lost."""
    asked, seen_runs, refused = {"Oslo"}, list[Any](), list[bool]()

    async def settle(journal: Any, call: Call, run: Any, known: Any) -> None:
        if call.arguments["city"] in asked:
            await run.wait(Wait("approval", "may it?"))

    async def noting(run: Run, proceed: Ends) -> Outcome:
        seen_runs.append((run.goes_on, run.program.run))
        if refused:
            raise Refused("not now")
        return await proceed()

    monkeypatch.setattr("doorward_durable_runs.journal.recorder.Journal.settle", settle)
    gateway, _ = opened(doorward_host, runs=[RunLayer("a", noting)])
    async with gateway as gate:
        waits = await gate.execute("await weather.add_station(city='Oslo')\nresult = 1")
        run = waits.waiting.run
        refused.append(True)
        assert "not now" in (await gate.services[STORED_RUNS].resume(run)).error.message
        refused.clear()
        assert (await gate.services[STORED_RUNS].resume(run)).waiting
        asked.clear()
        assert (await gate.services[STORED_RUNS].resume(run)).value == 1
        await gate.services[STORED_RUNS].replay(run)
        assert seen_runs[:4] == [(False, run), (True, run), (True, run), (True, run)]
        assert seen_runs[4][0] is True


async def test_a_call_that_waits_was_not_made(doorward_host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer is told by `is_out` when it is cut off with its run, and is asked again when that goes on."""
    found: list[Any] = []

    async def noting(run: Run, call: Call, proceed: Proceed) -> Reply:
        try:
            return await proceed()
        except asyncio.CancelledError:
            found.append(run.is_out(call))
            raise

    async def perform(self: Any, run: Any, call: Call) -> Any:
        if waits:
            run.set_parked(call, parked=True)
            await run.wait(Wait("login", "who are you?"))
        return {"high": 1}

    waits = [True]
    monkeypatch.setattr("doorward.calls.performing.Performing.perform", perform)
    gateway, seen = opened(doorward_host, calls=[CallLayer("a", noting)])
    async with gateway as gate:
        outcome = await gate.execute("await weather.get_forecast(city='Oslo')\nresult = 1")
        assert outcome.waiting
        assert (found, seen.calls) == ([False], [])
        waits.clear()
        assert (await gate.services[STORED_RUNS].resume(outcome.waiting.run)).value == 1


async def test_a_layer_suspends_a_run(doorward_host: Host) -> None:
    """For whatever it waits; it is asked again when the run goes on, and what it consumed is used up. A run that cannot
    be suspended gets a refusal that says why."""
    waits, found = [True], list[Any]()

    async def holding(run: Run, call: Call, proceed: Proceed) -> Reply:
        found.append((run.can_wait(), run.can_wait(time.time() + 1e9), run.session, run.ask, run.consume("key")))
        if waits:
            await run.wait(Wait("weather", "the sun has to shine", together="one sun is enough"))
        return await proceed()

    gateway, seen = opened(doorward_host, calls=[CallLayer("a", holding)])
    async with gateway as gate:
        outcome = await gate.execute("await weather.get_forecast(city='Oslo')\nresult = 1")
        assert (outcome.waiting.for_, outcome.waiting.what) == ("weather", ("the sun has to shine",))
        assert seen.calls == []
        single = await gate.answer(READ, {"city": "Oslo"})
        assert "the sun has to shine; this run cannot wait for it: it is a single call" in single.error.message
        waits.clear()
        assert (await gate.services[STORED_RUNS].resume(outcome.waiting.run)).value == 1
    assert found == [(True, False, "", None, True), (False, False, "", None, True), (True, False, "", None, False)]


async def test_a_replay_is_a_run_of_its_own(doorward_host: Any) -> None:
    """Whoever reads the log later does not take it for the run that it repeats."""
    gateway, seen = opened(doorward_host, more='[runs]\ndurable = "always"\n')
    async with gateway as gate:
        assert (await gate.execute("await weather.get_forecast(city='Oslo')\nresult = 1")).ok
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert (await gate.services[STORED_RUNS].replay(stored.given.run)).ok
    assert [program.run == stored.given.run for program in seen.ended] == [True, False]
    assert len(seen.calls) == 1


async def test_a_plan_that_no_executor_can_make(doorward_host: Any) -> None:
    """The error says so, and what the operator can do."""
    doorward_host.install("executor", "unread", Unread)
    for names, executor in (('"inprocess"', ""), ('["inprocess", "unread"]', "unread")):
        async with doorward_host.gateway(CONFIG.replace('"inprocess"', names)) as gate:
            program = gate.admission.program("1", "local", language="python")
            outcome = await gate.execution.run(replace(program, plan=True), None, None, None)
            assert outcome.executor == executor
            if not executor:
                assert outcome.error is not None
                assert "inprocess: it cannot plan" in outcome.error.message
                assert "A plan runs in full CPython" in str(outcome.error.hint)
