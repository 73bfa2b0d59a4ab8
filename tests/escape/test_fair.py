"""One client takes what it can get of an executor: runs that wait, sessions that are left open. The others are served
all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from doorward import Outcome

from .conftest import EXECUTORS, Gate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.parametrize("executor", [*EXECUTORS, "deno"])]

SLEEP = "import time\nprint('begun')\ntime.sleep(4)"
SCRIPT = "console.log('begun');\nawait new Promise((done) => setTimeout(done, 4000));"
MOST = 4


@pytest.fixture
def gate(gates: Callable[..., Gate], executor: str) -> Gate:
    return gates(executor, **{"workers" if executor == "monty" else "most": MOST})


@contextmanager
def flood(gate: Gate, count: int, principals: int = 1) -> Iterator[list[Future[Outcome]]]:
    """So many runs that sleep at once, for the time of a block."""
    code = SCRIPT if gate.executor == "deno" else SLEEP
    with ThreadPoolExecutor(count) as threads:
        begun = threading.Event()

        def one(number: int) -> Outcome:
            begun.set()
            return gate.run(code, principal=f"mallory-{number % principals}", timeout=6)

        runs = [threads.submit(one, number) for number in range(count)]
        begun.wait()
        time.sleep(0.5)  # most have what they can get by now
        yield runs


def served(gate: Gate, *principals: str) -> list[Any]:
    return [gate.run("1 + 1", principal=who, timeout=5).value for who in principals]


def test_a_flood_of_sleeps(gate: Gate) -> None:
    """Others are served, one after the other and at once, while three times as many runs as there is room for wait or
    sleep."""
    with flood(gate, 3 * MOST) as runs:
        assert served(gate, "alice", "bob", "carol") == [2, 2, 2]
        assert not all(run.done() for run in runs)
        with ThreadPoolExecutor(4) as threads:
            assert [*threads.map(lambda who: served(gate, who), ("alice", "bob", "carol", "dave"))] == [[2]] * 4


def test_a_flood_of_sessions(gate: Gate) -> None:
    """Who leaves them open has no room for more, is told so, and takes none of the others'."""
    # What a busy machine needs to open one, as long as there is room; then little, for each waits for its turn.
    sessions = [gate.run("x = 1", principal="mallory", session="new", timeout=10)]
    while sessions[-1].ok and len(sessions) < 2 * MOST:
        sessions.append(gate.run("x = 1", principal="mallory", session="new", timeout=10))
    sessions += [gate.run("x = 1", principal="mallory", session="new", timeout=1) for _ in range(MOST)]
    opened = [outcome.session_id for outcome in sessions if outcome.ok]
    try:
        assert 0 < len(opened) <= MOST // 2
        for outcome in sessions[len(opened) :]:
            assert outcome.error is not None
            assert (outcome.error.kind, outcome.error.type) == ("limit", "Busy")
            assert "sessions" in (outcome.error.hint or "")
        assert served(gate, "alice", "bob") == [2, 2]
        assert gate.run("x", principal="mallory", session=opened[0]).value == 1
    finally:
        for session in opened:
            gate.end(session, principal="mallory")
    assert served(gate, "mallory") == [2]


def test_who_finds_all_busy_is_told_so(gate: Gate) -> None:
    """As a limit, with what to do: it is no time-out of a program, which has not begun."""
    with flood(gate, 3 * MOST, principals=MOST):
        outcome = gate.run("1 + 1", principal="alice", timeout=1)
        assert outcome.error is not None
        assert (outcome.error.kind, outcome.error.type) == ("limit", "Busy")
        assert "busy" in outcome.error.message
        assert "try again" in (outcome.error.hint or "")
        assert gate.run("1 + 1", principal="alice", timeout=20).value == 2, "it waits for its turn"
