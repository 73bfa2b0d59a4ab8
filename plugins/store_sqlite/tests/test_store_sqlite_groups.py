"""Commits that wait at the same time are made in one transaction, and each is as if it were alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward import StateError
from doorward.engines import Append, Conflict, Lease, Put, StaleLease
from doorward_store_sqlite import GROUP, SqliteStore

pytestmark = pytest.mark.anyio


def _store(host: Any) -> SqliteStore:
    return SqliteStore(host.context(SqliteStore.Settings, {}))


async def _transactions(store: SqliteStore) -> int:
    """The transactions that the writer has begun. (A statement that is traced is one that is made.)"""
    begun = 0

    def count(statement: str) -> None:
        nonlocal begun
        begun += statement.startswith("BEGIN")

    def trace() -> None:
        assert store._writer._db is not None
        store._writer._db.set_trace_callback(count)

    await store._writer.run(trace)
    await asyncio.gather(*(store.commit(Put("t", str(number), b"")) for number in range(3 * GROUP)))
    return begun


async def test_many_commits_are_few_transactions(doorward_host: Any) -> None:
    """While one is written, those that come wait, and are written together."""
    store = _store(doorward_host)
    await store.commit(Put("t", "first", b""))
    assert await _transactions(store) <= 5
    versions = [record.version for record in await store.scan("t")]
    assert len({*versions}) == 3 * GROUP + 1
    await store.close()


async def test_one_that_is_refused_refuses_no_other(doorward_host: Any) -> None:
    """A conflict, a stale lease, or a value that cannot be stored is told to whom it belongs; all others are made."""
    store = _store(doorward_host)
    await store.commit(Put("t", "there", b""))
    for broken in ([], [store.commit(Put("t", "odd", 2**70))]):  # type: ignore[arg-type]
        ended = await asyncio.gather(
            store.commit(Put("t", "a", b"1"), Append(f"log {len(broken)}", [b"1"], 0)),
            store.commit(Put("t", "b", b"1"), Put("t", "there", b"other", expected=0)),
            store.commit(Put("t", "c", b"1"), fences=[Lease("nobody's", 1)]),
            store.commit(Put("t", "d", b"1"), Append("none", [b""], 7)),
            *broken,
            store.commit(Put("t", "e", b"1")),
            store.acquire(f"lease {len(broken)}", 60),
            return_exceptions=True,
        )
        kinds = [type(each) for each in ended]
        assert kinds[:4] == [int, Conflict, StaleLease, Conflict]
        assert kinds[-2:] == [int, Lease]
        assert all(isinstance(each, BaseException) for each in ended[4:-2])
        assert [record.key for record in await store.scan("t")] == ["a", "e", "there"]
    assert (await store.get("t", "there")).value == b""  # type: ignore[union-attr]
    await store.close()


async def test_one_that_is_given_up_is_not_made_later(doorward_host: Any) -> None:
    """A commit that is cancelled while it waits is not made by the next one."""
    store = _store(doorward_host)
    await store.commit(Put("t", "first", b""))
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()
    held = loop.create_future()

    def hold() -> None:
        asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()
        loop.call_soon_threadsafe(held.set_result, None)

    holding = asyncio.ensure_future(store._writer.run(hold))
    given_up = asyncio.ensure_future(store.commit(Put("t", "given up", b"")))
    after = asyncio.ensure_future(store.commit(Put("t", "after", b"")))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    gate.set()
    await asyncio.gather(holding, after, held)
    assert [record.key for record in await store.scan("t")] == ["after", "first"]
    await store.close()


async def test_a_full_disk_is_told_to_all(doorward_host: Any) -> None:
    """None of a group is made, and each is told."""
    store = _store(doorward_host)
    await store.commit(Put("t", "first", b""))

    def bound() -> None:
        assert store._writer._db is not None
        pages = store._writer._db.execute("PRAGMA page_count").fetchone()[0]
        store._writer._db.execute(f"PRAGMA max_page_count = {pages}")

    await store._writer.run(bound)
    work = (store.commit(Put("t", str(number), b"x" * 2**16)) for number in range(4))
    ended = await asyncio.gather(*work, return_exceptions=True)
    assert [type(each) for each in ended] == [StateError] * 4
    assert [record.key for record in await store.scan("t")] == ["first"]
    await store.close()
