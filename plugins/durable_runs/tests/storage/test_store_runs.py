"""Stored runs: whole or not at all, for one process at a time, for their principal alone, and for a while."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from doorward import PluginContext
from doorward.engines import Append, Delete, Forget, MemoryStore, Put, Store
from doorward.model.errors import StateError, UnknownName
from doorward_durable_runs.journal.journals import Journals
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.storage import holders
from doorward_durable_runs.storage.given import Given
from doorward_durable_runs.storage.store_runs import BY_TIME, StoreRuns
from doorward_store_sqlite import SqliteStore

pytestmark = pytest.mark.anyio

RUN = "0123456789abcdef"


def given(run: str = RUN, principal: str = "ada", **more: Any) -> Given:
    now = time.time()
    return Given(run, principal, "secret = 1", **{"created": now, "expires": now + 60, **more})


@asynccontextmanager
async def runs(store: Store, key: str = "", **settings: Any) -> AsyncIterator[StoreRuns]:
    """What another process has of a store."""
    made = StoreRuns(store, RunSettings(**settings), (lambda: key) if key else None)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    engine = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), tmp_path))
    yield engine
    await engine.close()


async def test_what_is_appended_is_read_again(store: Store) -> None:
    """Values that JSON has no word for, too. A list has no more of what the program was given than it shows."""
    async with runs(store) as one, runs(store) as other:
        held = await one.create(given(functions=("a.*",), params={"half": "\ud800"}), [(b"T", {"v": [1.5]})])
        await held.append([(b"T", {"v": [float("inf")]}), (b"W", {"for": "approval", "what": ["a person"]})])
        await held.close()
        stored = await other.show(RUN)
        assert (stored.state, stored.for_, stored.what) == ("waiting", "approval", ("a person",))
        assert (stored.given.functions, stored.given.params) == (("a.*",), {"half": "\ud800"})
        assert stored.frames[1:3] == [(b"T", {"v": [1.5]}), (b"T", {"v": [float("inf")]})]
        (listed,) = await other.all("ada")
        assert (listed.state, listed.what, listed.given.about) == ("waiting", ("a person",), "secret = 1")
        assert (listed.given.code, listed.frames) == ("", ())
        assert await other.all("eve") == []


@pytest.mark.parametrize("sync", [False, True])
async def test_with_sync_a_power_cut_loses_nothing(sync: bool) -> None:
    """Each commit is asked to survive one."""
    asked: list[bool] = []

    class Noted(MemoryStore):
        async def commit(self, *changes: Any, sync: bool = False, **more: Any) -> int:
            asked.extend([sync] if any(isinstance(change, Append) for change in changes) else [])
            return await super().commit(*changes, **more)

    async with runs(Noted(), sync=sync) as one:
        await (await one.create(given())).append([(b"T", {"v": [1.0]})])
    assert asked == [sync, sync]


async def test_a_run_belongs_to_its_principal(store: Store) -> None:
    """Another one cannot tell whether it is there, whatever it calls it."""
    async with runs(store) as one:
        await (await one.create(given())).close()
        told = set()
        for run in (RUN, "f" * 16, "*", "../" + RUN, ""):
            with pytest.raises(UnknownName) as error:
                await one.claim(run, "eve")
            told.add(error.value.message.replace(repr(run), "…"))
        assert told == {"there is no stored run …"}
        with pytest.raises(UnknownName):
            await one.remove(RUN, "eve")
        await one.remove(RUN, "ada")
        assert await store.names("logs") == await one.all() == []


async def test_with_a_key_nothing_can_be_read_or_changed_without_it(store: Store, tmp_path: Path) -> None:
    """Nor moved to another run. Processes in other folders share what seals."""
    async with runs(store, "a long key") as one, runs(store, "a long key") as same:
        held = await one.create(given(description="secret words"), [(b"W", {"for": "login", "what": ["secret"]})])
        await held.close()
        assert (await same.show(RUN)).given.code == "secret = 1"
        assert [each.given.about for each in await same.all()] == ["secret words"]
        kept = b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
        assert b"secret" not in kept
        for other in ("", "another key"):
            async with runs(store, other) as stranger:
                with pytest.raises(StateError):
                    await stranger.show(RUN)
                assert (await stranger.all(), await stranger.unread()) == ([], 1)
        entries = await store.read(f"runs {RUN}")
        await store.commit(Append(f"runs {'f' * 16}", entries, 0))
        with pytest.raises(StateError, match="changed"):
            await same.show("f" * 16)


async def test_a_copy_of_a_journal_is_no_second_run(store: Store) -> None:
    """Else its writes went out twice."""
    async with runs(store) as one:
        await (await one.create(given())).close()
        (record,) = await store.scan("runs")
        copied = Append(f"runs {'e' * 16}", await store.read(f"runs {RUN}"), 0)
        await store.commit(copied, Put("runs", record.key.replace(RUN, "e" * 16), record.value))
        with pytest.raises(UnknownName):
            await one.claim("e" * 16, "ada")
        assert len(await one.all()) == 1


STRANGE: list[list[bytes]] = [
    [b"W[1]"], [b'W{"for": 5, "what": 5}'], [b"L{}"], [b"O[]"], [b'S{"n": 4}'], [b'F{"uri": 1}'], [b'T{"v": 5}'],
    [b"T" + b"[" * 100_000], [b"T{"], [b"T\xff"], [b""],
    [b'E{"n": 4, "ms": 1, "b": 1, "r": {"value": 1}}'],
    [b'B{"n": 0, "f": "a.b", "k": "k", "a": "a.b()"}', b'E{"n": 0, "ms": 1, "b": 1, "e": {}}'],
]  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE)
async def test_a_journal_that_makes_no_sense_stops_nothing_but_its_run(store: Store, strange: list[bytes]) -> None:
    """It was changed, or another version wrote it: it is not resumed, and runs are still listed, swept and made."""
    async with runs(store) as one:
        for run in (RUN, "f" * 16):
            await (await one.create(given(run))).close()
        await store.commit(Append(f"runs {RUN}", strange, 1))
        journals = Journals(one, RunSettings())
        for work in (partial(journals.claim, RUN, "ada"), partial(journals.replay, RUN, None)):
            with pytest.raises(StateError, match="cannot be read"):
                await work()
        assert "f" * 16 in {each.given.run for each in await one.all()}
        await one.sweep()
        await (await one.claim("f" * 16, "ada"))[0].close()


@pytest.mark.parametrize("value", [b"", b"{}", b"[]\n{}", b'{"run": 1}', b"\xff"])
async def test_a_record_that_makes_no_sense_is_counted(store: Store, value: bytes) -> None:
    async with runs(store) as one:
        await (await one.create(given())).close()
        (record,) = await store.scan("runs")
        await store.commit(Put("runs", record.key, value))
        assert (await one.all(), await one.unread()) == ([], 1)
        await one.sweep()
        with pytest.raises(StateError, match="cannot be read"):
            await one.claim(RUN, "ada")


# Who has a run


async def test_one_process_has_a_run(store: Store) -> None:
    """The second is told; when the first lets go, or says that it waits, the run is free."""
    async with runs(store) as one, runs(store) as other:
        held = await one.create(given())
        for work in (other.claim(RUN, "ada"), other.remove(RUN), one.claim(RUN, "ada")):
            with pytest.raises(StateError, match="is running"):
                await work
        assert [each.state for each in await other.all()] == ["running"]
        assert await other.equal(given("e" * 16)) == []
        await held.append([(b"I", {"at": 1.0})])
        assert [each.state for each in await other.all()] == ["interrupted"]
        (equal,) = await other.equal(given("e" * 16))
        assert equal.given.run == RUN
        again, stored = await other.claim(RUN, "ada")
        assert stored.state == "interrupted"
        await again.close()


async def test_of_many_who_claim_a_run_at_once_one_has_it_until_it_is_closed(store: Store) -> None:
    """Who came too late takes nothing from the one who has it, in the same process either."""
    async with runs(store) as one:
        await (await one.create(given())).close()
        told = await asyncio.gather(*(one.claim(RUN, "ada") for _ in range(20)), return_exceptions=True)
        (held,) = [each[0] for each in told if not isinstance(each, BaseException)]
        for each in range(3):
            with pytest.raises(StateError, match="is running"):
                await one.claim(RUN, "ada")
            await held.append([(b"T", {"v": [each]})])
        await held.close()
        again, _ = await one.claim(RUN, "ada")
        await again.close()


async def test_who_was_silent_for_too_long_is_fenced_off() -> None:
    """By the clock of the store. Once somebody else has the run, nothing more is stored of it by the first, who sends
    nothing either; one whom nobody took for dead goes on."""
    now = [1000.0]
    store = MemoryStore(clock=lambda: now[0])
    async with runs(store) as one, runs(store) as other:
        paused, goes_on = await one.create(given()), await one.create(given("f" * 16))
        now[0] += holders.LEASE_SECONDS - 1
        with pytest.raises(StateError, match="is running"):
            await other.claim(RUN, "ada")
        now[0] += 2
        assert {each.state for each in await other.all()} == {"died"}
        taken, stored = await other.claim(RUN, "ada")
        assert stored.state == "died"
        for _ in range(2):
            with pytest.raises(StateError, match="was taken over"):
                await paused.append([(b"S", {"n": 0})])
        await taken.append([(b"R", {"at": 1.0})])
        await paused.close()
        assert [kind for kind, _ in (await other.show(RUN)).frames] == [b"H", b"K", b"R"]
        await goes_on.append([(b"T", {"v": [1.0]})])
        await one.holder._renew()
        assert {each.given.run: each.state for each in await other.all()} == {RUN: "running", "f" * 16: "running"}


@pytest.mark.slow
async def test_who_renews_their_lease_in_time_keeps_their_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holders, "RENEWAL_SECONDS", 0.001)
    now = [1000.0]
    store = MemoryStore(clock=lambda: now[0])
    async with runs(store) as one, runs(store) as other:
        held = await one.create(given())
        for _ in range(3):
            now[0] += holders.LEASE_SECONDS - 1
            renewed = (await store.get("run holders", one.holder.name)).expires  # type: ignore[union-attr]
            while (await store.get("run holders", one.holder.name)).expires == renewed:  # type: ignore[union-attr]
                await asyncio.sleep(0.001)
        with pytest.raises(StateError, match="is running"):
            await other.claim(RUN, "ada")
        await held.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems wait for the lease")
async def test_a_process_of_this_machine_that_was_killed_is_known_to_have_died(store: Store, tmp_path: Path) -> None:
    """At once. What it had stored is there."""
    hold = f"""\
import asyncio
from pathlib import Path
from doorward import PluginContext
from doorward_durable_runs import Given, RunSettings
from doorward_durable_runs.storage.store_runs import BY_TIME, StoreRuns
from doorward_store_sqlite import SqliteStore

async def main():
    store = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), Path({str(tmp_path)!r})))
    held = await StoreRuns(store, RunSettings()).create(Given({RUN!r}, "ada", "1", created=1, expires=2e9))
    await held.append([(b"S", {{"n": 0}})])
    print("held", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
    holder = subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"
        async with runs(store) as one:
            assert [each.state for each in await one.all()] == ["running"]
            with pytest.raises(StateError, match="is running"):
                await one.claim(RUN, "ada")
            holder.send_signal(signal.SIGKILL)
            await asyncio.to_thread(holder.wait)
            assert [each.state for each in await one.all()] == ["died"]
            claimed, stored = await one.claim(RUN, "ada")
            assert [kind for kind, _ in stored.frames] == [b"H", b"S"]
            await claimed.close()
    finally:
        holder.kill()
        holder.wait()


class Failing(MemoryStore):
    """A store of which a commit of frames fails, after it was made or before."""

    fails: str = ""

    async def commit(self, *changes: Any, **more: Any) -> int:
        is_it = self.fails and not any(isinstance(change, Put) and change.table == "run holders" for change in changes)
        if is_it and self.fails == "before":
            raise StateError("the database of the store was lost")
        version = await super().commit(*changes, **more)
        if is_it:
            raise StateError("the database was lost while something was stored, which may be there or not")
        return version


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", [b"S", b"W"])
async def test_what_was_perhaps_stored_is_stored_once(when: str, kind: bytes) -> None:
    """The next try finds out, and goes on behind it."""
    store = Failing()
    async with runs(store) as one:
        held = await one.create(given())
        store.fails = when
        frame = kind, {"n": 0, "for": "login"}
        with pytest.raises(StateError, match="cannot be written: the database"):
            await held.append([frame])
        store.fails = ""
        assert await held.append([frame, (b"I", {"at": 1.0})]) == 3
        await held.close()
        assert [kind for kind, _ in (await one.show(RUN)).frames] == [b"H", kind, b"I"]


@pytest.mark.slow
async def test_a_run_that_could_not_be_let_go_of_can_be_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By this process at once, and by others once that could be stored."""
    monkeypatch.setattr(holders, "RENEWAL_SECONDS", 0.001)
    store = Failing()
    async with runs(store) as one, runs(store) as other:
        held = await one.create(given())
        store.fails = "before"
        await held.close()
        assert [each.state for each in await one.all()] == ["died"]
        assert [each.state for each in await other.all()] == ["running"]
        store.fails = ""
        while (await other.all())[0].state == "running":
            await asyncio.sleep(0.001)
        await (await other.claim(RUN, "ada"))[0].close()


async def test_a_journal_that_could_not_be_begun_is_not_there() -> None:
    """The next try begins it anew."""
    store = Failing()
    async with runs(store) as one:
        store.fails = "before"
        with pytest.raises(StateError, match="was lost"):
            await one.create(given())
        store.fails = ""
        assert not one.any()
        await (await one.create(given())).close()
        assert (one.any(), len(await one.all())) == (True, 1)


async def test_that_a_run_is_stored_is_known_once_somebody_has_looked(store: Store) -> None:
    async with runs(store) as one, runs(store) as other:
        await (await one.create(given())).close()
        assert not other.any()
        await other.look()
        assert other.any()


async def test_who_is_cancelled_while_a_run_is_begun_holds_none(store: Store) -> None:
    async with runs(store) as one:
        task = asyncio.ensure_future(one.create(given()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert not one.holder.held
        assert [each.state for each in await one.all()] in (["died"], [])


# How long


async def test_runs_are_kept_for_a_while_and_only_so_many(store: Store) -> None:
    """Never more: those that ended are removed first, then those that could go on, and the log says so. One that runs is
    never touched."""
    ended, waits = (b"O", {"ok": True}), (b"W", {"for": "login"})
    async with runs(store, most=100) as many, runs(store, most=2) as one:
        for number in range(5):
            about = given(f"{number:016x}", created=number)
            held = await many.create(about, [ended] if number > 1 else [waits] if number else [])
            if number:
                await held.close()
        await (await many.create(given("e" * 16, "bob", created=1, expires=1))).close()
        await one.sweep()
        assert [each.given.run for each in await one.all()] == [f"{number:016x}" for number in (1, 0)]
        with structlog.testing.capture_logs() as logs:
            await (await one.create(given(f"{7:016x}", created=7))).close()
            await one._sweeping  # type: ignore[misc]
            await one.sweep()
        assert [(each["event"], each["run"]) for each in logs] == [("run_forgotten", f"{1:016x}")]
        assert logs[0]["principal"] == "ada"
        assert [each.given.run for each in await one.all()] == [f"{number:016x}" for number in (7, 0)]
        assert len(await store.names("logs")) == 2


async def test_no_more_runs_are_stored_than_are_kept(store: Store) -> None:
    """Without a sweep that somebody asks for: each run that begins or ends makes room for itself, in every process."""
    async with runs(store, most=3) as one, runs(store, most=3) as other:
        for number in range(8):
            which = (one, other)[number % 2]
            await (await which.create(given(f"{number:016x}", created=number), [(b"O", {"ok": True})])).close()
            if which._sweeping is not None:
                await which._sweeping
            assert len(await one.all()) <= 3
        assert [int(each.given.run, 16) for each in await one.all()] == [7, 6, 5]


async def test_a_sweep_leaves_what_runs_and_what_was_claimed_meanwhile(store: Store) -> None:
    """However old it is."""
    async with runs(store) as one, runs(store) as other:
        held = await one.create(given(created=1, expires=2))
        await other.sweep()
        assert len(await other.all()) == 1
        await held.close()
        (record,) = await store.scan("runs")
        claimed, _ = await one.claim(RUN, "ada")
        assert not await other._removed(RUN, record)
        await claimed.close()
        await other.sweep()
        assert await other.all() == []


async def test_a_run_that_was_removed_stores_nothing_more(store: Store) -> None:
    async with runs(store) as one:
        held = await one.create(given())
        (record,) = await store.scan("runs")
        await store.commit(Delete("runs", record.key), Forget(f"runs {RUN}"))
        with pytest.raises(StateError, match="was taken over"):
            await held.append([(b"S", {"n": 0})])
        await held.close()
        assert await store.names("logs") == await one.all() == []


class Counting(MemoryStore):
    """Counts what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_rows = 0

    async def get(self, table: str, key: str) -> Any:
        self.read_rows += 1
        return await super().get(table, key)

    async def scan(self, table: str, prefix: str = "", **how: Any) -> Any:
        found = await super().scan(table, prefix, **how)
        self.read_rows += len(found)
        return found


async def test_a_page_reads_no_more_runs_than_it_shows() -> None:
    """The newest first, of all or of a principal; what was removed is on none, and what an earlier version has stored
    is, once a sweep has found it."""
    store = Counting()
    ids = [f"{number:016x}" for number in range(40)]
    async with runs(store) as one, runs(store, durable="always") as other:
        for number, run in enumerate(ids):
            about = given(run, "ada" if number % 2 else "bob", created=time.time() - number)
            await (await one.create(about, [(b"O", {"ok": True})])).close()
        await one.close()
        store.read_rows = 0
        found, before = await other.page(limit=10)
        assert [each.given.run for each in found] == ids[:10]
        assert store.read_rows <= 20
        found, before = await other.page(limit=10, before=before)
        assert [each.given.run for each in found] == ids[10:20]
        store.read_rows = 0
        theirs, before = await other.page("bob", limit=15)
        assert [each.given.run for each in theirs] == ids[:30:2]
        assert store.read_rows <= 30
        rest, end = await other.page("bob", limit=15, before=before)
        assert ([each.given.run for each in rest], end) == (ids[30::2], None)
        await other.remove(ids[0])
        assert [each.given.run for each in (await other.page(limit=2))[0]] == ids[1:3]
        for record in await store.scan(BY_TIME):
            await store.commit(Delete(BY_TIME, record.key))
        await store.commit(Put(BY_TIME, f"all-{0:014d}-{RUN}", b"nothing"))
        await other.sweep()
        found, _ = await other.page()
        assert [each.given.run for each in found] == ids[1:]
        assert len(await store.scan(BY_TIME)) == 2 * len(found)
