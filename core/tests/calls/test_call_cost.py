"""What a call costs besides its source, told by counts: they are the same on a busy machine."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import Call, CallLayer, Reply, Run, hookimpl
from doorward_durable_runs.files.store import FileRuns
from doorward_durable_runs.journal.journals import Journals
from doorward_durable_runs.settings import RunSettings

from ..conftest import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MOST_FUNCTION_CALLS = 410
"""Functions, of Python and in C, that are called between a program's call and its answer, with a journal in memory. It
was 775 once, and 403 before there were journals."""

CALL = "weather.get_forecast", (), {"city": "Oslo"}
WRITE = "weather.add_station", (), {"city": "Oslo"}


@pytest.fixture(scope="module", autouse=True)
def nothing_of_others_ends() -> Iterator[None]:
    """What other tests have left is collected once, and is looked at no more: that would take longer than the tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the functions that are called, by kind; not those of what was left before, which ends at any time."""
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, arg: Any) -> None:
        found[event] += 1

    gc.collect()
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        gc.enable()


def stepped(work: Coroutine[Any, Any, Any]) -> int:
    """How often a coroutine gives way to others before it is done."""
    steps = 0
    while True:
        try:
            work.send(None)
        except StopIteration:
            return steps
        steps += 1


async def test_a_call_gives_way_only_where_its_source_waits(doorward_host: Any) -> None:
    """Each turn of the event loop costs a system call, and lets all other work go first."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        run = gate.execution.of_call("local")
        assert stepped(run.call(*CALL)) == 0


async def test_a_call_calls_few_functions(doorward_host: Any) -> None:
    """What is found out about a function is found out once: later calls do not look at its schemas again."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        run = gate.execution.of_call("local")
        await run.call(*CALL)
        with counted() as found:
            await run.call(*CALL)
    assert found["call"] + found["c_call"] <= MOST_FUNCTION_CALLS


async def test_a_call_asks_the_catalog_nothing(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a run asks once whether the catalog has changed; its calls use what was read before."""
    statements: list[str] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:
        made = connect(*given, **named)
        made.set_trace_callback(statements.append)
        return made

    monkeypatch.setattr(sqlite3, "connect", traced)
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        run = gate.execution.of_call("local")
        await run.call(*CALL)
        statements.clear()
        await run.call(*CALL)
        assert statements == []
        await gate.call(CALL[0], CALL[2])
        assert len(statements) == 1


async def test_a_call_leaves_nothing_behind(doorward_host: Any) -> None:
    """The memory of a gateway does not grow with the calls that it has made."""
    async with doorward_host.gateway(CONFIG) as gate:

        async def blocks(calls: int) -> int:
            for _ in range(calls):
                await gate.call(CALL[0], CALL[2])
                await anyio.sleep(0)  # the loop drops timers that were cancelled
            gc.collect()
            return sys.getallocatedblocks()

        await blocks(50)
        before = await blocks(50)
        assert await blocks(300) - before < 300


async def test_a_journal_costs_a_call_next_to_nothing(doorward_host: Any, tmp_path: Path) -> None:
    """In memory it is a few functions more; on disk a write, or two if the call may not be repeated."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        found, system = {}, {}
        for durable in ("never", "waits", "always"):
            for name, call in {"read": CALL, "write": WRITE}.items():
                run = journaled(gate, tmp_path / durable, durable)
                await run.call(*call)
                counts = []
                for _ in range(3):  # what is counted besides, of caches that are filled, is not of a call
                    with system_calls() as made, counted() as calls:
                        await run.call(*call)
                    counts.append(calls["call"] + calls["c_call"])
                found[durable, name] = min(counts)
                system[durable, name] = made
    assert found["waits", "read"] <= MOST_FUNCTION_CALLS
    assert found["waits", "read"] - found["never", "read"] <= 20
    assert found["always", "read"] - found["never", "read"] <= 100
    assert system["never", "read"] == system["waits", "read"] == system["waits", "write"] == []
    assert system["always", "read"] == ["lseek", "write"]
    assert system["always", "write"] == ["lseek", "write"] * 2


@pytest.mark.parametrize(("read_only", "most"), [(False, 5), (True, 70)], ids=["of others", "its own"])
async def test_a_layer_costs_a_call_little(doorward_host: Any, read_only: bool, most: int) -> None:
    """Next to nothing, if it stands around calls of other functions."""

    async def around(run: Run, call: Call, proceed: Callable[[], Awaitable[Reply]]) -> Reply:
        return await proceed()

    class Layered:
        @hookimpl
        def call_layers(self) -> list[CallLayer]:
            return [CallLayer("a", around, lambda function: function.read_only is read_only)]

    doorward_host.install("plugin", "layered", Layered())
    found = []
    for config in (CONFIG, CONFIG.replace("plugins = []", 'plugins = ["layered"]')):
        async with doorward_host.gateway(config) as gate:
            await gate.call(CALL[0], CALL[2])
            run = gate.execution.of_call("local")
            await run.call(*CALL)
            with counted() as calls:
                await run.call(*CALL)
            found.append(calls["call"] + calls["c_call"])
    assert found[1] - found[0] <= most


def journaled(gate: Any, folder: Path, durable: Any) -> Any:
    """A run with its journal."""
    settings = RunSettings(durable=durable)
    journals = Journals(FileRuns(folder, settings, None), settings)
    program = gate.execution.of_call("local").program
    return gate.execution.context(program, recorder=journals.new(program))


@contextmanager
def system_calls() -> Iterator[list[str]]:
    """The functions of `os` that are called by us and ask the system."""
    made: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("open", "close", "lseek", "write", "read", "fstat", "ftruncate", "fsync", "fdatasync"):
            patch.setattr(os, name, partial(_noted, made, name, getattr(os, name)))
        yield made


def _noted(made: list[str], name: str, asked: Callable[..., Any], *given: Any, **named: Any) -> Any:
    made.append(name)
    return asked(*given, **named)
