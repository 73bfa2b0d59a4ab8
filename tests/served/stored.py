"""What the tests read of the runs that a state folder holds, and change in them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
from doorward import PluginContext
from doorward_durable_runs import RunSettings, StoredRun
from doorward_durable_runs.storage.store_runs import StoreRuns
from doorward_store_sqlite import SqliteStore

T = TypeVar("T")


def of_runs(state: Path, work: Callable[[StoreRuns], Awaitable[T]]) -> T:
    """What `work` does with the stored runs of a folder."""

    async def done() -> T:
        store = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), state))
        runs = StoreRuns(store, RunSettings(most=100_000))
        try:
            return await work(runs)
        finally:
            await runs.close()
            await store.close()

    return anyio.run(done)


def runs_in(state: Path) -> list[StoredRun]:
    """The stored runs, the newest first."""
    return of_runs(state, lambda runs: runs.all())


def run_in(state: Path, run: str) -> StoredRun:
    """A stored run with its frames."""
    return of_runs(state, lambda runs: runs.show(run))


def stored_bytes(state: Path) -> bytes:
    """All that is stored of runs."""
    with contextlib.closing(sqlite3.connect(state / "store.db")) as db:
        rows = db.execute("SELECT content FROM entries UNION ALL SELECT value FROM records WHERE kind = 'runs'")
        return b"".join(content for (content,) in rows)
