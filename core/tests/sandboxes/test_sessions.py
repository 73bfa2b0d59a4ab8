"""Sessions: how they end, and what their client is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward import LimitExceeded, ProgramResult, SandboxDied, UnknownName, hookimpl
from doorward.helping import HelperContext

from ..conftest import CONFIG, InProcess

pytestmark = pytest.mark.anyio

GONE = "session and its variables are gone"


class Mortal(InProcess):
    """Programs with `dies` end their sandbox, those with `much` meet a limit, those with `waits` can only be closed;
    for those with `long`, time passes."""

    waiting = 0
    clock = 0.0

    async def open(self, program: Any, *, session: bool = False) -> Any:
        sandbox = await super().open(program)
        run, closed = sandbox.run, asyncio.Event()

        async def mortal(program: Any, door: Any) -> ProgramResult:
            ended = await run(program, door)
            if "dies" in program.code:
                raise SandboxDied("the sandbox died: signal 9")
            if "file" in program.params:
                await door.open(program.params["file"])
            if "much" in program.code:
                raise LimitExceeded(
                    "the program needed more memory than its limit of 1 MiB", hint="Work on smaller pieces."
                )
            if "waits" in program.code:
                Mortal.waiting += 1
                await closed.wait()
                raise SandboxDied("the sandbox died")
            if "long" in program.code:
                Mortal.clock += 61
            return ended

        async def close() -> None:
            closed.set()

        sandbox.run, sandbox.close = mortal, close
        return sandbox


@pytest.fixture
def mortal(doorward_host: Any) -> Any:
    doorward_host.install("executor", "mortal", Mortal)
    return doorward_host


MORTAL = CONFIG.replace('"inprocess"', '["mortal", "inprocess"]')


async def test_a_run_whose_sandbox_died_never_moves_on(mortal: Any) -> None:
    """The program may have had effects; what it printed is kept, and the next executor does not get it. CONTRACT:
    EXE-21."""
    async with mortal.gateway(MORTAL) as gate:
        outcome = await gate.execute("print('seen')\nx = 'dies'")
        assert (outcome.error.kind, outcome.error.type) == ("executor", "SandboxDied")
        assert outcome.printed == "seen\n"
        assert "session" not in outcome.error.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "kind"), [("x = 'dies'", "executor"), ("x = 'much'", "limit"), ("await weather.sleep()", "limit")]
)
async def test_what_ends_a_session_says_so(mortal: Any, code: str, kind: str) -> None:
    """A crash, a limit and the deadline end the session; the answer has no id of it any more. CONTRACT: EXE-09."""
    async with mortal.gateway(MORTAL) as gate:
        first = await gate.execute("x = 1", session_id="new")
        assert first.session_id
        soon = {"timeout": 0.3} if "sleep" in code else {}
        last = await gate.execute(f"print('seen')\n{code}", session_id=first.session_id, **soon)
        assert (last.error.kind, last.session_id, last.printed) == (kind, "", "seen\n")
        assert GONE in f"{last.error.message} {last.error.hint}"
        assert (await gate.execute("x", session_id=first.session_id)).error.type == "UnknownName"
        assert GONE not in ((await gate.execute(code, **soon)).error.hint or "")


async def test_a_file_that_is_none_does_not_end_a_session(mortal: Any) -> None:
    """An executor finds out before anything runs."""
    async with mortal.gateway(MORTAL) as gate:
        session = (await gate.execute("x = 1", session_id="new")).session_id
        wrong = await gate.execute("x", params={"file": "doorward://results/none"}, session_id=session)
        assert (wrong.error.type, wrong.session_id) == ("InvalidArguments", session)
        assert (await gate.execute("x", session_id=session)).value == 1


class Ends:
    """A plugin with a helper that ends the session of its program."""

    @hookimpl
    def gateway_made(self, gateway: Any) -> None:
        gateway.modules.add("doorward.ends", {"session": self.session})

    async def session(self, run: HelperContext) -> None:
        run.close_session()


async def test_a_program_closes_its_session(mortal: Any) -> None:
    """After the run's answer; a run that waited for it is told, and without a session there is nothing to close.
    CONTRACT: EXE-09."""
    mortal.install("plugin", "ends", Ends())
    config = MORTAL.replace("plugins = []", 'plugins = ["ends"]')
    async with mortal.gateway(config + "[limits]\nsessions = 1\n") as gate:
        first = await gate.execute("x = 1", session_id="new")
        code = "await doorward.call('doorward.ends.session')\nawait weather.get_forecast('Oslo')\nresult = x + 1"
        last, waited = await asyncio.gather(
            gate.execute(code, session_id=first.session_id), gate.execute("x", session_id=first.session_id)
        )
        assert (last.value, last.session_id) == (2, "")
        assert (waited.error.type, waited.session_id) == ("UnknownName", "")
        assert "no session" in (await gate.execute("x", session_id=first.session_id)).error.message
        assert (await gate.execute("x = 1", session_id="new")).session_id, "there is room for another one"
        alone = await gate.execute("await doorward.call('doorward.ends.session')")
        assert (alone.error.type, "session_id" in alone.error.hint) == ("InvalidArguments", True)


async def test_a_session_is_closed_from_outside(mortal: Any, until: Any) -> None:
    """By its principal only, together with what runs in it."""
    async with mortal.gateway(MORTAL) as gate:
        session = (await gate.execute("x = 1", session_id="new")).session_id
        with pytest.raises(UnknownName):
            await gate.close_session(session, principal="mallory")
        before = Mortal.waiting
        running = asyncio.ensure_future(gate.execute("x = 'waits'", session_id=session))
        await until(lambda: Mortal.waiting > before)
        await gate.close_session(session)
        outcome = await running
        assert (outcome.error.message, outcome.session_id) == ("the session was closed while the program ran", "")
        with pytest.raises(UnknownName):
            await gate.close_session(session)


async def test_a_session_that_is_closed_while_it_opens_runs_nothing(mortal: Any) -> None:
    """Its sandbox is ended, and has its place no more."""
    opening, go_on, closed = asyncio.Event(), asyncio.Event(), list[Any]()

    class Slow(Mortal):
        async def open(self, program: Any, *, session: bool = False) -> Any:
            opening.set()
            await go_on.wait()
            sandbox = await super().open(program)
            close = sandbox.close

            async def noted() -> None:
                closed.append(sandbox)
                await close()

            sandbox.close = noted
            return sandbox

    mortal.install("executor", "slow", Slow)
    async with mortal.gateway(MORTAL.replace('"mortal"', '"slow"')) as gate:
        running = asyncio.ensure_future(gate.execute("print('ran')\nx = 1", session_id="new"))
        await opening.wait()
        [session] = gate._sessions._open
        await gate.close_session(session)
        go_on.set()
        outcome = await running
        assert (outcome.error.type, outcome.error.message, outcome.printed) == (
            "UnknownName",
            "the session has ended",
            "",
        )
        assert outcome.session_id == ""
        assert len(closed) == 1
        assert not gate.executors._slots["slow"]._held


async def test_idle_time_begins_with_the_end_of_a_run(mortal: Any) -> None:
    """A session in which a program runs for longer than the idle time is there afterwards, and ends when nobody uses
    it."""
    async with mortal.gateway(MORTAL + "[limits]\nsession_idle = 60\n") as gate:
        gate._sessions._clock = lambda: Mortal.clock
        session = (await gate.execute("x = 1\n'takes long'", session_id="new")).session_id
        assert (await gate.execute("x", session_id=session)).value == 1
        Mortal.clock += 61
        assert (await gate.execute("x", session_id=session)).error.type == "UnknownName"


async def test_sessions_that_end_slowly_keep_nobody_waiting_for_each(mortal: Any) -> None:
    """Those of others that are over end at the same time, not one after the other."""
    async with mortal.gateway(MORTAL + "[limits]\nsession_idle = 60\n") as gate:
        gate._sessions._clock = lambda: Mortal.clock
        opened = [
            gate._sessions._open[(await gate.execute("x = 1", session_id="new", principal=f"p{n}")).session_id]
            for n in range(8)
        ]
        ending, most = 0, 0

        async def slowly() -> None:
            nonlocal ending, most
            ending, most = ending + 1, max(most, ending + 1)
            await asyncio.sleep(0)
            ending -= 1

        for session in opened:
            session._sandbox._sandbox.close = slowly
        Mortal.clock += 61
        assert (await gate.execute("x = 1", session_id="new", principal="alice")).ok
        assert most == 8
