"""`[limits] rate`: as many runs a minute as allowed, whichever process starts them."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import LimitExceeded, StateError
from doorward.access.rate_limit import ALONE_SECONDS, RateLimit
from doorward.engines import MemoryStore

from ..conftest import CONFIG, Unusable

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that the test turns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000.0
        for name in ("time", "monotonic"):
            monkeypatch.setattr(f"doorward.access.rate_limit.time.{name}", lambda: self.now)


async def started(rate: RateLimit, times: int, principal: str = "ann") -> int:
    """How many of so many runs may start."""
    count = 0
    for _ in range(times):
        try:
            await rate.admit(principal)
            count += 1
        except LimitExceeded:
            pass
    return count


async def test_processes_share_the_runs_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes start as many together as one may, in any 60 seconds; each principal has its own."""
    clock = Clock(monkeypatch)
    store = MemoryStore(clock=lambda: clock.now)
    one, two = RateLimit(60, store), RateLimit(60, store)
    made = 0
    for _ in range(60):
        made += await started(one, 1) + await started(two, 1)
    assert 57 <= made <= 60
    assert await started(two, 1, "bob") == 1
    clock.now += 59
    assert made + await started(one, 60) + await started(two, 60) <= 60
    clock.now += 2
    assert await started(two, 100) == 60
    assert await started(one, 100) == 0


async def test_what_was_taken_and_not_started_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts one run a second does not use up more than that."""
    clock = Clock(monkeypatch)
    store = MemoryStore(clock=lambda: clock.now)
    one, two = RateLimit(1000, store), RateLimit(1000, store)
    for _ in range(10):
        assert await started(one, 1) == 1
        clock.now += 1
    assert 930 <= await started(two, 1000) <= 990


async def test_most_runs_touch_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process takes a share of what is left, and asks again once that is used."""
    Clock(monkeypatch)
    taken = []

    class Counted(MemoryStore):
        async def commit(self, *changes: Any, **more: Any) -> int:
            taken.append(changes)
            return await super().commit(*changes, **more)

    assert await started(RateLimit(100_000, Counted()), 1000) == 1000
    assert len(taken) == 1


async def test_each_process_counts_alone_where_nobody_can_count() -> None:
    """A broken store stops no run that this process itself may start."""
    assert await started(RateLimit(3, Unusable()), 5) == 3


async def test_gateways_of_one_store_share_the_rate(doorward_host: Any, shared_store: MemoryStore) -> None:
    """The fourth run of a minute is refused, whichever gateway is asked, with when to try again."""
    config = f"store = 'shared'\n{CONFIG}\n[limits]\nrate = 3\n"
    async with doorward_host.gateway(config) as one, doorward_host.gateway(config) as two:
        outcomes = [await gate.execute("1") for gate in (one, two, one, two)]
    assert [outcome.ok for outcome in outcomes] == [True, True, True, False]
    assert "Try again in" in outcomes[3].error.hint


async def test_a_store_that_cannot_be_used_is_not_asked_for_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have each wait for seconds. What it allows counts again as soon as it can be asked."""
    clock, store, asked = Clock(monkeypatch), MemoryStore(), list[str]()
    read = store.get

    async def locked(table: str, key: str) -> Any:
        asked.append(key)
        raise StateError("another process holds it locked")

    monkeypatch.setattr(store, "get", locked)
    rate = RateLimit(60, store)
    assert await started(rate, 30) == 30
    assert len(asked) == 1
    clock.now += ALONE_SECONDS
    assert await started(rate, 1) == 1
    assert len(asked) == 2
    clock.now += ALONE_SECONDS
    monkeypatch.setattr(store, "get", read)
    await started(RateLimit(60, store), 60)
    assert await started(rate, 1) == 0
