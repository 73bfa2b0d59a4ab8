"""What principals use within 24 hours: counted exactly in a store that processes share."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import LimitExceeded, PluginContext, StateError
from doorward.engines import MemoryStore, Store
from doorward_llm.amounts import Amounts
from doorward_llm.daily import Daily
from doorward_llm.settings import DailyQuota
from doorward_store_sqlite import SqliteSettings, SqliteStore

pytestmark = pytest.mark.anyio

ONE = Amounts(1, 10, 0.5)


def shared(folder: Path) -> Store:
    return SqliteStore(PluginContext("sqlite", SqliteSettings(), folder))


async def reserved(daily: Daily, *, most: int = 1000) -> int:
    """How many requests are let through, until one is refused."""
    for count in range(most):
        try:
            await daily.reserve("ann", ONE)
        except LimitExceeded:
            return count
    return most


async def test_hours_end_one_by_one() -> None:
    """What was used 24 hours ago counts no more, what was used since does, for each principal and server apart."""
    now, store = [3600.0 * 480_000], MemoryStore()
    daily = Daily(store, "llm", DailyQuota(rounds=3, tokens=None), clock=lambda: now[0])
    hour = await daily.reserve("ann", ONE)
    now[0] += 23 * 3600
    assert await reserved(daily) == 2
    assert await reserved(Daily(store, "other", DailyQuota(rounds=1, tokens=None), clock=lambda: now[0])) == 1
    await daily.reserve("bob", ONE)
    await daily.settle("ann", hour, Amounts(-1, -10, -0.5))
    assert await reserved(daily) == 1
    now[0] += 3600
    assert await reserved(daily) == 0
    now[0] += 23 * 3600
    assert await reserved(daily) == 3


ASKER = """
import asyncio, sys
from pathlib import Path
from doorward import LimitExceeded, PluginContext
from doorward_llm.amounts import Amounts
from doorward_llm.daily import Daily
from doorward_llm.settings import DailyQuota
from doorward_store_sqlite import SqliteSettings, SqliteStore

async def main():
    store = SqliteStore(PluginContext("sqlite", SqliteSettings(), Path(sys.argv[1])))
    daily, count = Daily(store, "llm", DailyQuota(rounds=60)), 0
    try:
        while True:
            await daily.reserve("ann", Amounts(1, 1, 0.0))
            count += 1
    except LimitExceeded:
        print(count)
    await store.close()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_processes_count_together(tmp_path: Path) -> None:
    """Exactly as many requests as allowed, however many processes make them."""

    async def asked() -> int:
        done = await anyio.run_process([sys.executable, "-c", ASKER, str(tmp_path)], stderr=subprocess.PIPE)
        return int(done.stdout)

    assert sum(await asyncio.gather(asked(), asked(), asked())) + await asked() == 60


async def test_what_an_earlier_version_counted_is_taken_over(tmp_path: Path) -> None:
    """Exactly and once, for all processes; the file stays as it is."""
    now = 3600.0 * 480_000
    file = tmp_path / "quota.db"
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE used (principal TEXT, hour INTEGER, rounds INTEGER, tokens INTEGER, cost REAL)")
        rows = [("ann", 479_999, 3, 30, 0.0), ("ann", 479_970, 9, 90, 0.0), ("bob", 480_000, 5, 1, 0.25)]
        db.executemany("INSERT INTO used VALUES (?, ?, ?, ?, ?)", rows)
    stores = shared(tmp_path), shared(tmp_path)
    for store, left in zip(stores, (2, 0), strict=True):
        daily = Daily(store, "llm", DailyQuota(rounds=5, tokens=None), earlier=file, clock=lambda: now)
        assert await reserved(daily) == left
        with pytest.raises(LimitExceeded, match="0 are left"):
            await daily.reserve("bob", ONE)
    for store in stores:
        await store.close()
    assert file.exists()


async def test_what_cannot_be_counted_is_not_allowed(asking: Any, provider: Any, tmp_path: Path) -> None:
    """A store that is of no use, and none at all: no model is asked."""
    (tmp_path / "store.db").mkdir()
    store = shared(tmp_path)
    with pytest.raises(StateError, match="the quotas cannot be used") as told:
        await Daily(store, "llm", DailyQuota()).reserve("ann", ONE)
    assert "No model is asked" in (told.value.hint or "")
    await store.close()


async def test_without_a_store(host: Any, asking: Any, provider: Any) -> None:
    """Each process would count for itself: it is refused, unless the configuration says so, or nothing is limited."""
    host.entries = [entry for entry in host.entries if entry.kind != "store"]
    async with asking() as gate:
        error = (await gate.execute("await other.ask('q')")).error
        assert "quotas of a day need a store" in error.message
        assert "pip install doorward-store-sqlite" in error.hint
    assert not provider.seen
    async with asking(more={"store": "memory"}) as gate:
        assert (await gate.execute("await other.ask('q')")).ok
