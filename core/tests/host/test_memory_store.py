"""The store in memory against the conformance class, and which store a gateway has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError, PluginError
from doorward.engines import MemoryStore, Put
from doorward_testing import Host, StoreConformance

from ..conftest import CONFIG, InProcess, Weather


class TestMemoryConformance(StoreConformance):
    """What holds for every store holds for core's own."""

    driver = MemoryStore


@pytest.mark.anyio
async def test_a_core_without_engines_stores_in_memory(host: Host) -> None:
    """The default engine may be missing; one that somebody names may not."""
    async with host.gateway("") as gate:
        assert isinstance(gate.store, MemoryStore)
    async with host.gateway('store = "memory"') as gate:
        assert isinstance(gate.store, MemoryStore)
    with pytest.raises(PluginError, match="no store named 'sqlite'") as raised:
        async with host.gateway('store = "sqlite"'):
            pass
    assert "`pip install doorward-store-sqlite` brings it" in (raised.value.hint or "")


@pytest.mark.anyio
async def test_an_engine_is_named_made_and_closed(host: Host) -> None:
    """With its settings, and the state folder."""
    made: list[Any] = []

    class Engine(MemoryStore):
        closed = False

        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.state: Path = context.state
            made.append(self)

        async def close(self) -> None:
            self.closed = True

    host.install("store", "mine", Engine)
    async with host.gateway('store = "mine"') as gate:
        assert gate.store is made[0]
        assert made[0].state == gate.state
        assert await gate.store.commit(Put("t", "k", b"")) == 1
    assert made[0].closed
    with pytest.raises(ConfigError, match="unknown key 'odd'"):
        async with host.gateway('store = "mine"\n[stores.mine]\nodd = 1'):
            pass


@pytest.mark.anyio
async def test_calls_make_no_step_in_the_store(host: Host) -> None:
    """A run asks for its share of the rate, and its calls need nothing stored, however many there are."""
    steps: list[str] = []

    class Counted(MemoryStore):
        lasts = True

        async def get(self, table: str, key: str) -> Any:
            steps.append(f"get {table}")
            return await super().get(table, key)

        async def commit(self, *changes: Any, **more: Any) -> int:
            steps.append("commit")
            return await super().commit(*changes, **more)

    host.install("store", "counted", Counted)
    host.install("source", "fake", Weather)
    host.install("executor", "inprocess", InProcess)
    counts = []
    async with host.gateway(f'store = "counted"\nlimits.rate = 39\n{CONFIG}') as gate:
        await gate.ready()
        for calls in (1, 1, 50):
            steps.clear()
            code = f"for _ in range({calls}):\n    await weather.get_forecast(city='Oslo')"
            outcome = await gate.execute(code)
            assert outcome.ok, outcome.error
            counts.append(len(steps))
    assert counts[1] == counts[2] > 0
