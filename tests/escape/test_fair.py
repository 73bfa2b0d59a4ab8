"""One client takes what it can get of an executor: runs that wait, sessions that are left open. The others are served
all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from doorward import Outcome

from .conftest import EXECUTORS, Gate
from .host import Vault, gone

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("executor", [*EXECUTORS, "deno"])]

CALL = "import vault\nvault.wait()"
SCRIPT = 'import { wait } from "vault";\nawait wait();'
MOST = 4


@pytest.fixture
def gate(gates: Callable[..., Gate], executor: str) -> Gate:
    return gates(executor, **{"workers" if executor == "monty" else "most": MOST})


@contextmanager
def flood(gate: Gate, principals: int, share: int) -> Iterator[list[Future[Outcome]]]:
    """Three times as many runs as there is room for, which last until they are released, at the latest at the end of a
    block; that begins when they have their share of it."""
    code = SCRIPT if gate.executor == "deno" else CALL
    Vault.called.clear()
    Vault.released.clear()
    with ThreadPoolExecutor(3 * MOST) as threads:
        try:
            names = [f"mallory-{number % principals}" for number in range(3 * MOST)]
            runs = [threads.submit(gate.run, code, principal=name, timeout=60) for name in names]
            assert gone(lambda: Vault.called.count("wait") == share, 60)
            yield runs
        finally:
            Vault.released.set()
    assert [run.result().ok for run in runs] == [True] * len(runs)


def served(gate: Gate, *principals: str) -> list[Any]:
    return [gate.run("1 + 1", principal=who, timeout=60).value for who in principals]


def test_a_flood_of_runs(gate: Gate) -> None:
    """Others are served, one after the other and at once, while three times as many runs as there is room for wait or
    have their share of it."""
    with flood(gate, principals=1, share=MOST // 2) as runs:
        assert served(gate, "alice", "bob", "carol") == [2, 2, 2]
        with ThreadPoolExecutor(4) as threads:
            assert [*threads.map(lambda who: served(gate, who), ("alice", "bob", "carol", "dave"))] == [[2]] * 4
        assert not any(run.done() for run in runs)


def test_a_flood_of_sessions(gate: Gate) -> None:
    """Who leaves them open has no room for more, is told so, and takes none of the others'."""
    sessions = [gate.run("x = 1", principal="mallory", session="new", timeout=60) for _ in range(MOST // 2)]
    opened = [outcome.session_id for outcome in sessions]
    try:
        assert [outcome.ok for outcome in sessions] == [True] * (MOST // 2)
        with ThreadPoolExecutor(MOST) as threads:
            asked = partial(gate.run, "x = 1", principal="mallory", session="new", timeout=1)
            refused = [thread.result() for thread in [threads.submit(asked) for _ in range(MOST)]]
        for outcome in refused:
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
    with ThreadPoolExecutor(1) as threads, flood(gate, principals=MOST, share=MOST):
        outcome = gate.run("1 + 1", principal="alice", timeout=0.5)
        assert outcome.error is not None
        assert (outcome.error.kind, outcome.error.type) == ("limit", "Busy")
        assert "busy" in outcome.error.message
        assert "try again" in (outcome.error.hint or "")
        patient = threads.submit(gate.run, "1 + 1", principal="alice", timeout=60)
    assert patient.result().value == 2, "it waits for its turn"
