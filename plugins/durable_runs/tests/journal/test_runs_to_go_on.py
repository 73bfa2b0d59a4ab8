"""Durable runs that end for a reason that passes: nothing that they sent is forgotten, sent again or taken for not made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from doorward import ApiError, Call, Door, Program, ProgramResult, RefusedForNow, SandboxDied, hookimpl
from doorward.model.errors import StateError
from doorward.values import to_its_end
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.journal.entries import Entry
from doorward_durable_runs.journal.replay import StoredJournal
from doorward_durable_runs.journal.sent import sent_calls
from doorward_durable_runs.storage.store_runs import _Held
from doorward_testing.samples import Weather, _Running

from .conftest import ALWAYS

pytestmark = pytest.mark.anyio

SMALL = ALWAYS.replace('"always"', '"always"\nruns.max_bytes = 1000')
WRITES = """
for city in ["Oslo", "Rome", "Bergen"]:
    await weather.add_station(city=city)
    await weather.get_forecast(city=city)
result = "done"
"""
BIG = f"await weather.big()\n{WRITES}"
STATIONS = ["add_station Oslo", "add_station Rome", "add_station Bergen"]


def written(calls: list[str]) -> list[str]:
    return [call for call in calls if call.startswith("add_station")]


async def shown(gate: Any) -> dict[str, str]:
    """How each call of the one stored run ended, as it is stored."""
    (stored,) = await gate.services[STORED_RUNS].journals.store.all()
    whole = await gate.services[STORED_RUNS].journals.store.show(stored.given.run)
    return {entry.text: _ended(entry) for entry in StoredJournal.read(whole).entries}


def _ended(entry: Any) -> str:
    if not entry.ended:
        return "unknown: its answer is lost" if entry.sent else "no answer: not made, or it may be repeated"
    if entry.error:
        return f"{type(entry.error).__name__}: {entry.error}"
    return "ok" if entry.reply else "ok; its answer is not stored"


@contextmanager
def a_disk_with_room_for(fits: Callable[[Any], bool], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What does not fit is not written."""
    append = _Held.append

    async def append_if_it_fits(self: _Held, said: Any) -> int:
        if not fits(said):
            raise StateError("the disk is full", hint="Tell the operator.")
        return await append(self, said)

    with monkeypatch.context() as patch:
        patch.setattr(_Held, "append", append_if_it_fits)
        yield


def small(said: Any) -> bool:
    return len(repr(said)) < 3000


async def leave_at(gate: Any, code: str, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Run a program whose client leaves while a call with this city is out."""
    call, out = Weather.call, asyncio.Event()

    async def stays_out(self: Weather, asked: Call) -> Any:
        answer = await call(self, asked)
        if asked.arguments.get("city") == at:
            out.set()
            await asyncio.Event().wait()
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Weather, "call", stays_out)
        task = asyncio.ensure_future(gate.execute(code))
        await out.wait()
        task.cancel()
        await asyncio.wait([task])


# Answers that are more than is stored of one run


async def test_each_write_is_stored_to_the_end(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that goes on although it cannot be resumed: who asks for it is told what it sent, not to run it again."""
    async with doorward_host.gateway(SMALL) as gate:
        await leave_at(gate, BIG, monkeypatch, "Bergen")
        assert written(calls) == STATIONS
        ended = await shown(gate)
        assert ended["weather.big [[], {}]"] == "ok; its answer is not stored"
        assert ended['weather.add_station [[], {"city": "Oslo"}]'] == "ok; its answer is not stored"
        assert ended['weather.add_station [[], {"city": "Bergen"}]'] == "unknown: its answer is lost"
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        refused = (await gate.services[STORED_RUNS].resume(stored.given.run)).error
        assert "cannot be resumed: its answers are more than is stored of one run" in refused.message
        assert all(city in refused.hint for city in ("Oslo", "Rome", "Bergen"))
        assert "would send them again" in refused.hint
    assert written(calls) == STATIONS


async def test_calls_that_may_be_repeated_are_named_before_a_program_is_run_again(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them may have written, too."""
    code = 'await weather.big()\nawait weather.get_forecast(city="Oslo")'
    async with doorward_host.gateway(SMALL) as gate:
        await leave_at(gate, code, monkeypatch, "Oslo")
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        hint = (await gate.services[STORED_RUNS].resume(stored.given.run)).error.hint
        assert hint.startswith(
            "It had sent nothing that may not be repeated. It had begun calls that may be: weather.big"
        )
        assert hint.endswith(" Its program can be run again.")


def test_all_functions_are_named_of_calls_that_may_be_repeated() -> None:
    entries = [Entry(place, f"api.put_{place % 3}") for place in range(8)] + [Entry(8, "api.add")]
    entries[8].sent, entries[8].text = True, "api.add []"
    assert sent_calls(entries) == (
        "It had sent call 8: api.add []. It had begun calls that may be repeated: api.put_0 ×3, api.put_1 ×3, "
        "api.put_2 ×2. Run again, its program would send them again: look what is there first."
    )
    assert sent_calls([]) == "It had sent nothing that may not be repeated: its program can be run again."


async def test_a_run_whose_answers_are_too_many_ends_as_any_other(doorward_host: Any, calls: list[str]) -> None:
    """It has its outcome, and its errors are stored without what makes them large."""
    code = f"{BIG}\ntry:\n    await weather.fail()\nexcept Exception:\n    pass"
    async with doorward_host.gateway(SMALL) as gate:
        assert (await gate.execute(code)).value == "done"
        ended = await shown(gate)
        assert ended["weather.fail [[], {}]"] == "ApiError: 404: no such city (token )"
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert (stored.state, stored.ok) == ("ended", True)
        replayed = await gate.services[STORED_RUNS].replay(stored.given.run)
        assert "the run has no answer to this call: weather.big" in replayed.error.message


@pytest.mark.parametrize("repeats", [False, True])
async def test_what_no_executor_repeats_is_stored_all_the_same(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch, repeats: bool
) -> None:
    """A run that cannot be resumed from its start on, because its executor repeats no program, shows what it sent."""
    monkeypatch.setattr("doorward.sandboxes.executors.Executors.repeats", lambda self, name: repeats)
    async with doorward_host.gateway(ALWAYS) as gate:
        await leave_at(gate, WRITES, monkeypatch, "Rome")
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert bool(stored.lost) is not repeats
        assert (await shown(gate))['weather.add_station [[], {"city": "Rome"}]'] == "unknown: its answer is lost"


# A disk on which little fits


async def test_nothing_is_sent_after_an_answer_that_could_not_be_stored(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where smaller things still fit. Once there is room the run goes on, and each write is made once."""
    async with doorward_host.gateway(ALWAYS) as gate:
        with a_disk_with_room_for(small, monkeypatch):
            error = (await gate.execute(BIG)).error
        assert "weather.add_station was not called, because nothing can be stored before" in error.message
        assert written(calls) == []
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert (stored.state, stored.lost) == ("interrupted", "")
        assert stored.what == (error.message,)
        assert (await gate.services[STORED_RUNS].resume(stored.given.run)).value == "done"
    assert written(calls) == STATIONS


async def test_an_answer_is_stored_as_soon_as_there_is_room(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the next write, which goes out then: the run can be resumed, and its reads are not made again."""
    full = [False]
    call = Weather.call

    async def fills_and_frees(self: Weather, asked: Call) -> Any:
        full[0] = asked.function.name == "big"
        return await call(self, asked)

    monkeypatch.setattr(Weather, "call", fills_and_frees)
    code = "await weather.big()\nawait weather.get_forecast(city='Rome')\n" + WRITES
    async with doorward_host.gateway(ALWAYS) as gate:
        with a_disk_with_room_for(lambda said: not full[0], monkeypatch):
            assert (await gate.execute(code)).value == "done"
        assert set((await shown(gate)).values()) == {"ok"}


async def test_an_end_for_which_there_is_little_room_is_an_end(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that succeeded is not taken for one whose process died, though its value could not be stored."""
    async with doorward_host.gateway(ALWAYS) as gate:
        with a_disk_with_room_for(small, monkeypatch):
            assert (await gate.execute(f"{WRITES}\nresult = 'x' * 5000")).ok
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert (stored.state, stored.ok) == ("ended", True)
        assert "is over: it succeeded" in (await gate.services[STORED_RUNS].resume(stored.given.run)).error.message
    assert written(calls) == STATIONS


# What must be recorded, or read, before a call and cannot be


def refuses_rome(doorward_host: Any, error: Exception) -> list[bool]:
    """A guard that raises an error before calls about Rome, once something is in the list."""
    full: list[bool] = []

    class Guard:
        def __init__(self, context: Any) -> None:
            pass

        @hookimpl
        def guard_call(self, call: Call) -> str | None:
            if full and call.arguments.get("city") == "Rome":
                raise error
            return None

    doorward_host.install("plugin", "guard", Guard)
    return full


@pytest.mark.parametrize("error", [RefusedForNow("the log is full", hint="Tell the operator."), StateError("no disk")])
async def test_what_stops_all_calls_for_now_is_no_answer(
    doorward_host: Any, calls: list[str], error: Exception
) -> None:
    """A durable run stops before the call, whatever its program catches, and goes on with it when it is resumed."""
    full = refuses_rome(doorward_host, error)
    config = ALWAYS.replace("plugins = []", 'plugins = ["guard"]')
    code = (
        WRITES.replace("\n    ", "\n        ")
        .replace("]:\n", "]:\n    try:\n", 1)
        .replace("\nresult", "\n    except Exception:\n        pass\nresult")
    )
    async with doorward_host.gateway(config) as gate:
        full.append(True)
        stopped = (await gate.execute(code)).error
        assert f"weather.add_station was not called, because {error}" in stopped.message
        assert "The calls before it were made" in stopped.hint
        assert 'resume_run("' in stopped.hint
        assert written(calls) == STATIONS[:1]
        full.clear()
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert (await gate.services[STORED_RUNS].resume(stored.given.run)).value == "done"
    assert written(calls) == STATIONS


async def test_a_run_that_is_too_large_ends_there_too(doorward_host: Any, calls: list[str]) -> None:
    """It asked to be durable: what stops its calls is not an answer that its program may overlook."""
    refuses_rome(doorward_host, RefusedForNow("the log is full")).append(True)
    code = """
await weather.big()
for city in ["Oslo", "Rome"]:
    try:
        await weather.add_station(city=city)
    except Exception:
        pass
"""
    async with doorward_host.gateway(SMALL.replace("plugins = []", 'plugins = ["guard"]')) as gate:
        stopped = (await gate.execute(code)).error
        assert "weather.add_station was not called, because the log is full" in stopped.message
        assert "This run cannot be resumed" in stopped.hint
    assert written(calls) == STATIONS[:1]


async def test_a_write_that_may_be_repeated_is_shown_while_it_is_out(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks at a run that was killed then learns of it."""
    seen: list[dict[str, str]] = []
    call = Weather.call

    async def look(self: Weather, asked: Call) -> Any:
        if not asked.function.read_only:
            seen.append(await shown(gate))
        return await call(self, asked)

    monkeypatch.setattr("doorward.calls.broker.may_repeat", lambda function: True)
    monkeypatch.setattr(Weather, "call", look)
    async with doorward_host.gateway(ALWAYS) as gate:
        assert (await gate.execute(WRITES)).ok
    assert [[*each.values()][-1] for each in seen] == ["no answer: not made, or it may be repeated"] * 3


# Sandboxes that die


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Cities whose calls kill the sandbox of their run, once they are out."""
    cities: set[str] = set()
    dead = asyncio.Event()
    run, call = _Running.run, Weather.call

    async def dies(self: _Running, program: Program, door: Door) -> ProgramResult:
        dead.clear()
        running, died = asyncio.ensure_future(run(self, program, door)), asyncio.ensure_future(dead.wait())
        try:
            await asyncio.wait([running, died], return_when="FIRST_COMPLETED")
        finally:
            died.cancel()
        if not dead.is_set():
            return await running
        running.cancel()
        await asyncio.wait([running])
        raise SandboxDied("the sandbox died of SIGKILL", hint="Do less at once.")

    async def kill(self: Weather, asked: Call) -> Any:
        answer = await call(self, asked)
        if (asked.function.read_only, asked.arguments.get("city") in cities) == (True, True):
            dead.set()
            await asyncio.Event().wait()
        return answer

    monkeypatch.setattr(_Running, "run", dies)
    monkeypatch.setattr(Weather, "call", kill)
    return cities


async def test_a_run_whose_sandbox_was_killed_goes_on(doorward_host: Any, calls: list[str], kills: set[str]) -> None:
    """As often as it is killed from outside, at one place and another: no write is made twice."""
    async with doorward_host.gateway(ALWAYS) as gate:
        kills.add("Oslo")
        died = await gate.execute(WRITES)
        assert (died.error.type, died.error.message) == ("SandboxDied", "the sandbox died of SIGKILL")
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        run = stored.given.run
        assert f'resume_run("{run}") goes on from there; no write is made twice' in died.error.hint
        assert (stored.state, stored.what) == ("interrupted", ("the sandbox died of SIGKILL",))
        kills.symmetric_difference_update({"Oslo", "Rome"})
        assert (await gate.services[STORED_RUNS].resume(run)).error.hint == died.error.hint
        kills.clear()
        assert (await gate.services[STORED_RUNS].resume(run)).value == "done"
    assert written(calls) == STATIONS


async def test_a_program_that_kills_its_sandbox_is_over(doorward_host: Any, calls: list[str], kills: set[str]) -> None:
    """The second time at the same place, which its outcome says; before, it can be resumed."""
    async with doorward_host.gateway(ALWAYS) as gate:
        kills.add("Rome")
        await gate.execute(WRITES)
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        ended = (await gate.services[STORED_RUNS].resume(stored.given.run)).error
        assert ended.type == "SandboxDied"
        assert "a second time: it is the program that ends it" in ended.hint
        assert "look what is there" in ended.hint
        assert (await gate.services[STORED_RUNS].journals.store.show(stored.given.run)).state == "ended"
    assert written(calls) == STATIONS[:2]


async def test_a_killed_sandbox_of_a_run_that_is_too_large(
    doorward_host: Any, calls: list[str], kills: set[str]
) -> None:
    """That it cannot be resumed is said, with the reason."""
    async with doorward_host.gateway(SMALL) as gate:
        kills.add("Rome")
        hint = (await gate.execute(BIG)).error.hint
    assert hint.startswith("This run cannot be resumed: its answers are more than is stored of one run")
    assert written(calls) == STATIONS[:2]


async def test_a_program_that_called_nothing_is_not_kept_for_its_dead_sandbox(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is run again as it is: nothing was sent."""

    async def dies(self: _Running, program: Program, door: Door) -> ProgramResult:
        raise SandboxDied("the sandbox died of SIGKILL", hint="Do less at once.")

    monkeypatch.setattr(_Running, "run", dies)
    async with doorward_host.gateway(ALWAYS) as gate:
        assert (await gate.execute("1")).error.hint == "Do less at once."
        assert (await gate.services[STORED_RUNS].journals.store.all()) == []


# A store that takes its time


AT_ONCE = """
import asyncio
result = await asyncio.gather(*(weather.add_station(city=city) for city in ["Oslo", "Rome", "Bergen", "Bonn", "Bern"]))
"""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made, append = Slow(), _Held.append

    async def slowly(self: _Held, said: Any) -> int:
        return await to_its_end(made.append(partial(append, self), said))

    monkeypatch.setattr(_Held, "append", slowly)
    return made


class Slow:
    """Stores frames after a turn of the loop, and holds the first that say `holds`: until `go`, or then `fails`."""

    def __init__(self) -> None:
        self.holds, self.fails, self.kinds = b"", False, list[bytes]()
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def append(self, append: Callable[[Any], Awaitable[int]], said: Any) -> int:
        kinds = b"".join(kind for kind, _ in said)
        self.kinds.append(kinds)
        await asyncio.sleep(0)
        if self.holds and self.holds in kinds:
            self.holds = b""
            self.begun.set()
            await self.go.wait()
            if self.fails:
                raise StateError("the disk is full")
        return await append(said)


async def test_calls_made_at_once_are_stored_together(doorward_host: Any, calls: list[str], slow: Slow) -> None:
    """Whoever comes while others are being stored is stored next, and none goes out before."""
    async with doorward_host.gateway(ALWAYS) as gate:
        assert (await gate.execute(AT_ONCE)).ok
        assert len(written(calls)) == 5
        assert set((await shown(gate)).values()) == {"ok"}
        assert b"".join(slow.kinds).count(b"S") == 5
        assert any(len(kinds) > 1 for kinds in slow.kinds[1:])


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("holds", [b"S", b"E"])
async def test_a_client_leaves_while_a_call_is_stored(
    doorward_host: Any, calls: list[str], slow: Slow, holds: bytes, fails: bool
) -> None:
    """What is stored then is stored once; a call that has not gone out is not taken for one that has."""
    async with doorward_host.gateway(ALWAYS) as gate:
        slow.holds, slow.fails = holds, fails
        task = asyncio.ensure_future(gate.execute(WRITES))
        await slow.begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        slow.go.set()
        await asyncio.wait([task])
        assert written(calls) == STATIONS[: holds == b"E"]
        ended = await shown(gate)
        assert "unknown: its answer is lost" not in ended.values()
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        assert (await gate.services[STORED_RUNS].resume(stored.given.run)).value == "done"
        assert written(calls) == STATIONS


async def test_a_call_that_was_sent_before_is_not_forgotten_when_it_is_cut_off_as_it_goes_out_again(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch, slow: Slow
) -> None:
    """A person lets it be sent again, and its client leaves before it is: it was sent, and a person is asked again."""
    async with doorward_host.gateway(ALWAYS) as gate:
        await leave_at(gate, WRITES, monkeypatch, "Oslo")
        stored = gate.services[STORED_RUNS]
        (run,) = [each.given.run for each in await stored.journals.store.all()]
        await stored.journals.answer(run, again=True)
        slow.holds = b"S"
        resumed = asyncio.ensure_future(stored.resume(run))
        await slow.begun.wait()
        resumed.cancel()
        await asyncio.sleep(0)
        slow.go.set()
        await asyncio.wait([resumed])
        assert written(calls) == STATIONS[:1]
        assert (await shown(gate))['weather.add_station [[], {"city": "Oslo"}]'] == "unknown: its answer is lost"
        assert (await stored.resume(run)).waiting.for_ == "unknown"
        await stored.journals.answer(run, again=True)
        assert (await stored.resume(run)).value == "done"
        assert written(calls) == [STATIONS[0], *STATIONS]


async def test_a_call_that_was_sent_before_is_not_forgotten_when_its_server_takes_it_later(
    doorward_host: Any, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits with its run, and is shown as sent, as it was the first time."""

    async def later(self: Weather, asked: Call) -> Any:
        raise ApiError("too many requests", status=429, retry_after=3600)

    async with doorward_host.gateway(ALWAYS) as gate:
        await leave_at(gate, WRITES, monkeypatch, "Oslo")
        stored = gate.services[STORED_RUNS]
        (run,) = [each.given.run for each in await stored.journals.store.all()]
        await stored.journals.answer(run, again=True)
        with monkeypatch.context() as patch:
            patch.setattr(Weather, "call", later)
            assert (await stored.resume(run)).waiting.for_ == "limit"
        assert (await shown(gate))['weather.add_station [[], {"city": "Oslo"}]'] == "unknown: its answer is lost"
