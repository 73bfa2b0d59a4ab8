"""Sandboxes and parked runs, as principals share them."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import anyio
import pytest
from doorward import LOCAL, Busy, Unsupported
from doorward.access.slots import MAX_WAITING, Slots, may_take

from ..conftest import CONFIG, InProcess

pytestmark = pytest.mark.anyio


class Few(InProcess):
    """It says how many sandboxes it has; `opened` are open, and in `begun` of them a program has been begun."""

    slots = 4
    opened: ClassVar[set[Any]] = set()
    most = begun = 0

    async def open(self, program: Any, *, session: bool = False) -> Any:
        sandbox = await super().open(program)
        Few.opened.add(sandbox)
        Few.most = max(Few.most, len(Few.opened))

        async def close() -> None:
            Few.opened.discard(sandbox)

        run = sandbox.run

        async def noted(program: Any, door: Any) -> Any:
            Few.begun += 1
            return await run(program, door)

        sandbox.close, sandbox.run = close, noted
        return sandbox


class Fewer(Few):
    slots = 1


class Patient(Fewer):
    wait = 600.0


WAIT = "await weather.sleep()"
FEW = CONFIG.replace('"inprocess"', '"few"')


@pytest.fixture
def few(doorward_host: Any) -> Any:
    doorward_host.install("executor", "few", Few)
    doorward_host.install("executor", "fewer", Fewer)
    Few.opened.clear()
    Few.most = Few.begun = 0
    return doorward_host


async def until(met: Callable[[], bool]) -> None:
    with anyio.fail_after(100):
        while not met():
            await asyncio.sleep(0.005)


async def ended(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.slow
async def test_one_principal_does_not_stop_the_others(few: Any) -> None:
    """However many runs and sessions one begins, others are served at once."""
    async with few.gateway(FEW) as gate:
        sessions = [await gate.execute("x = 1", session_id="new", principal="mallory") for _ in range(2)]
        assert all(session.session_id for session in sessions)
        floods = [asyncio.ensure_future(gate.execute(WAIT, principal="mallory", timeout=300)) for _ in range(8)]
        await asyncio.sleep(0)  # they have begun to wait
        for who in ("alice", "bob", "carol"):
            assert (await gate.execute("1 + 1", principal=who, timeout=60)).value == 2
        assert len(Few.opened) == 2
        await ended(*floods)


async def test_who_is_busy_is_told_so(few: Any) -> None:
    """The error is a limit's, no run's time-out, says what to do, and comes within the run's time."""
    async with few.gateway(FEW) as gate:
        floods = [asyncio.ensure_future(gate.execute(WAIT, principal="mallory", timeout=300)) for _ in range(2)]
        await until(lambda: len(Few.opened) == 2)
        error = (await gate.execute("1 + 1", principal="mallory", timeout=0.2)).error
        assert (error.kind, error.type) == ("limit", "Busy")
        assert "2 of its 4 sandboxes are in use, 2 of them by you" in error.message
        assert "try again" in error.hint
        await ended(*floods)
        assert (await gate.execute("1 + 1", principal="mallory")).ok


@pytest.mark.slow
async def test_a_session_that_is_busy_says_so(few: Any) -> None:
    async with few.gateway(FEW) as gate:
        session = (await gate.execute("x = 1", session_id="new")).session_id
        running = asyncio.ensure_future(gate.execute(WAIT, session_id=session, timeout=300))
        await until(lambda: Few.begun == 2)
        waited = await gate.execute("x", session_id=session, timeout=0.2)
        assert (waited.error.kind, waited.error.type) == ("limit", "Busy")
        assert waited.session_id == session, "it is not over"
        await ended(running)


@pytest.mark.slow
async def test_a_session_whose_run_was_cancelled_has_no_slot(few: Any) -> None:
    """Nobody has to wait for a sweep."""
    async with few.gateway(FEW) as gate:
        for n in range(6):
            session = (await gate.execute("x = 1", session_id="new", principal="alice")).session_id
            assert session
            running = asyncio.ensure_future(gate.execute(WAIT, session_id=session, principal="alice"))
            await until(lambda n=n: Few.begun == 2 * n + 2)
            await ended(running)
            assert not Few.opened


async def test_what_fails_to_open_has_no_slot(few: Any) -> None:
    class Broken(Few):
        async def open(self, program: Any, *, session: bool = False) -> Any:
            raise Unsupported("it is broken")

    few.install("executor", "broken", Broken)
    async with few.gateway(CONFIG.replace('"inprocess"', '["broken", "few"]')) as gate:
        for _ in range(6):
            assert (await gate.execute("1", principal="alice", timeout=60)).value == 1


async def test_local_has_them_all(few: Any) -> None:
    """Who has the machine shares with nobody; more than there are never run."""
    async with few.gateway(FEW) as gate:
        code = "await __import__('asyncio').sleep(0.05)"
        outcomes = await asyncio.gather(*(gate.execute(code) for _ in range(12)))
        assert all(outcome.ok for outcome in outcomes)
        assert Few.most == 4


async def test_principals_wait_in_turns(few: Any) -> None:
    """One who has begun many runs before is served once, then the next principal."""
    order: list[str] = []

    async def one(gate: Any, who: str) -> None:
        assert (await gate.execute("1", principal=who, timeout=60)).ok
        order.append(who)

    async with few.gateway(CONFIG.replace('"inprocess"', '"fewer"')) as gate:
        holding = asyncio.ensure_future(gate.execute(WAIT, principal="holder", timeout=60))
        await until(lambda: Few.begun == 1)
        waiting = []
        for who in ["mallory"] * 6 + ["alice"] * 2 + ["bob"]:
            waiting.append(asyncio.ensure_future(one(gate, who)))
            await until(lambda: gate.executors._slots["fewer"].counts()["waiting"] == len(waiting))
        await ended(holding)
        await asyncio.gather(*waiting)
    assert order == ["mallory", "alice", "bob", "mallory", "alice", *["mallory"] * 4]


async def test_who_is_cancelled_while_waiting_takes_nothing() -> None:
    """Also at the moment at which the turn has come."""
    slots = Slots("few", 1, 30)
    await slots.take("alice", 1)
    for at_once in (False, True):
        waiting = asyncio.ensure_future(slots.take("bob", 10))
        await asyncio.sleep(0)
        if at_once:
            slots.give_back("alice")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await slots.take("carol", 0)
    with pytest.raises(Busy):
        await slots.take("dave", 0)
    slots.give_back("carol")
    assert (slots._held, slots._waiting) == ({}, {})


@pytest.mark.slow
async def test_many_wait_in_little_memory(few: Any) -> None:
    """Executions that wait for the only sandbox are some kilobytes each, and their principals take turns."""
    few.install("executor", "patient", Patient)
    order: list[str] = []
    limits = "\n[limits]\nrate = 100000\nmax_timeout = 600\n"

    async def one(gate: Any, who: str) -> None:
        assert (await gate.execute("1", principal=who, timeout=600)).ok
        order.append(who)

    async with few.gateway(CONFIG.replace('"inprocess"', '"patient"') + limits) as gate:
        holding = asyncio.ensure_future(gate.execute(WAIT, principal="holder", timeout=600))
        await until(lambda: len(Few.opened) == 1)
        slots = gate.executors._slots["patient"]
        tracemalloc.start()
        try:
            waiting = [asyncio.ensure_future(one(gate, f"p{n // 25}")) for n in range(200)]
            while sum(map(len, slots._waiting.values())) < 200:
                await asyncio.sleep(0.01)
            used, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        await ended(holding)
        await asyncio.gather(*waiting)
        assert not slots._waiting
    assert used < 200 * 32 * 1024, used
    for begun in range(8, 201, 8):
        assert len(set(Counter(order[:begun]).values())) <= 2, "nobody is ahead by more than a turn"
        assert max(Counter(order[:begun]).values()) <= begun // 8 + 1


@pytest.mark.slow
async def test_so_many_wait_and_no_more() -> None:
    """One principal has half of the places in the queue at most; who comes then still waits, and is served in turn."""
    slots, order = Slots("few", 1, 30), list[str]()
    await slots.take("mallory", 1)

    async def one(who: str) -> None:
        await slots.take(who, 30)
        order.append(who)
        await asyncio.sleep(0)
        slots.give_back(who)

    waiting = [asyncio.ensure_future(one("mallory")) for _ in range(MAX_WAITING // 2)]
    await asyncio.sleep(0)
    with pytest.raises(
        Busy, match=f"too many runs wait .*: {MAX_WAITING // 2}, {MAX_WAITING // 2} of them yours"
    ) as told:
        await slots.take("mallory", 30)
    assert "Nothing has run: try again" in str(told.value.hint)
    waiting += [asyncio.ensure_future(one(who)) for who in ("alice", "bob") for _ in range(100)]
    await asyncio.sleep(0)
    slots.give_back("mallory")
    await asyncio.gather(*waiting)
    assert order[:300] == ["mallory", "alice", "bob"] * 100
    assert order[300:] == ["mallory"] * (MAX_WAITING // 2 - 100)
    assert (slots._held, slots._waiting) == ({}, {})


@pytest.mark.parametrize("most", [*range(1, 9), 16, 32])
def test_nobody_has_more_than_half(most: int) -> None:
    """And whoever comes next has one, until there are as many principals as places or nearly so."""
    held: Counter[str] = Counter()
    for number in range(most):
        who = f"p{number}"
        before = held.total()
        while may_take(who, held, most):
            held[who] += 1
        assert held[who] or before == most
        assert held[who] <= max(1, most // 2)
    assert held.total() == most or most > 8
    assert not may_take(LOCAL, held, held.total())
    assert may_take(LOCAL, Counter(), 1)
