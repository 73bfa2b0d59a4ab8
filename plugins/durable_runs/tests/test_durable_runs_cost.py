"""What a journal costs each call of its run."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.engines import MemoryStore
from doorward_durable_runs.journal.journals import Journals
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.storage.holders import TABLE as HOLDERS
from doorward_durable_runs.storage.store_runs import StoreRuns
from doorward_testing import counted_functions
from doorward_testing.samples import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALL = "weather.get_forecast", (), {"city": "Oslo"}
WRITE = "weather.add_station", (), {"city": "Oslo"}


@pytest.fixture(autouse=True)
def a_calm_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a gateway does a second after its start would be counted, too."""
    monkeypatch.setattr("doorward.servers.background_refresh.START_SECONDS", 3600.0)


class Counted(MemoryStore):
    """A store that notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def commit(self, *changes: Any, **more: Any) -> int:
        if not any(getattr(change, "table", "") == HOLDERS for change in changes):  # a lease is renewed by the clock
            self.asked.append("+".join(type(change).__name__ for change in changes))
        return await super().commit(*changes, **more)

    async def get(self, *given: Any) -> Any:
        self.asked.append("get")
        return await super().get(*given)

    async def read(self, *given: Any, **more: Any) -> Any:
        self.asked.append("read")
        return await super().read(*given, **more)

    async def scan(self, *given: Any, **more: Any) -> Any:
        self.asked.append("scan")
        return await super().scan(*given, **more)


async def test_a_journal_costs_a_call_next_to_nothing(doorward_host: Any) -> None:
    """In memory it is a few functions more; in the store one commit, or two if the call may not be repeated."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        found, asked = {}, {}
        for durable in ("never", "waits", "always"):
            for name, call in {"read": CALL, "write": WRITE}.items():
                store = Counted()
                run, journals = journaled(gate, store, durable)
                await run.call(*call)
                counts = []
                for _ in range(7):  # what is counted besides, of caches that are filled, is not of a call
                    store.asked.clear()
                    with counted_functions() as calls:
                        await run.call(*call)
                    counts.append(calls["call"] + calls["c_call"])
                found[durable, name] = min(counts)
                asked[durable, name] = [*store.asked]
                await journals.store.close()
    assert found["waits", "read"] - found["never", "read"] <= 20
    assert found["always", "read"] - found["never", "read"] <= 450  # 237; a busy machine has seen 376
    assert asked["never", "read"] == asked["waits", "read"] == asked["waits", "write"] == []
    assert asked["always", "read"] == ["Append"]
    assert asked["always", "write"] == ["Append"] * 2


async def test_a_run_in_which_nothing_is_recorded_asks_the_store_for_nothing(doorward_host: Any) -> None:
    """Its first write alone looks whether another run of the same program was cut off."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        store = Counted()
        run, journals = journaled(gate, store, "waits")
        await run.call(*CALL)
        assert store.asked == []
        await run.call(*WRITE)
        await run.call(*WRITE)
        assert store.asked == ["scan"]
        await journals.store.close()


def journaled(gate: Any, store: Counted, durable: Any) -> tuple[Any, Journals]:
    """A run with its journal."""
    settings = RunSettings(durable=durable)
    journals = Journals(StoreRuns(store, settings), settings)
    program = gate.execution.of_call("local").program
    return gate.execution.context(program, recorder=journals.new(program)), journals
