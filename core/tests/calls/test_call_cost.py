"""What a call costs besides its source, told by counts: they are the same on a busy machine."""

from __future__ import annotations

import gc
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import anyio
import pytest
from doorward import Call, CallLayer, Reply, Run, hookimpl
from doorward.servers import background_refresh
from doorward_testing import counted_functions

from ..conftest import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MOST_FUNCTION_CALLS = 410
"""Functions, of Python and in C, that are called between a program's call and its answer, It was 775
once."""

CALL = "weather.get_forecast", (), {"city": "Oslo"}
WRITE = "weather.add_station", (), {"city": "Oslo"}


@pytest.fixture(scope="module", autouse=True)
def nothing_of_others_ends() -> Iterator[None]:
    """What other tests have left is collected once, and is looked at no more: that would take longer than the tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def a_calm_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a gateway does a second after its start would be counted, too."""
    monkeypatch.setattr(background_refresh, "START_SECONDS", 3600.0)


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
        with counted_functions() as found:
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
            with counted_functions() as calls:
                await run.call(*CALL)
            found.append(calls["call"] + calls["c_call"])
    assert found[1] - found[0] <= most
