"""The file of the SQLite store: kills, other processes, broken and foreign files, and a loop that goes on."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import doorward_store_sqlite
import pytest
import structlog
from doorward import PluginContext, StateError
from doorward.configuration import Secrets, validate
from doorward.engines import Append, Notify, Put, PutBlob
from doorward_store_sqlite import SqliteStore, statements
from doorward_store_sqlite.sqlite_file import SqliteFile
from doorward_store_sqlite.sqlite_layout import SqliteLayout
from doorward_store_sqlite.tables import LAYOUT

pytestmark = pytest.mark.anyio

_PROCESS = """
import asyncio, sys
from pathlib import Path
from doorward import PluginContext
from doorward.engines import Append, Conflict, Notify, Put
from doorward_store_sqlite import SqliteStore

async def main():
    what, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    store = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), folder))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        if what == "append":
            await store.commit(Put("t", "last", str(number).encode()), Append("log", [b"x" * 1000], number))
        else:
            while True:
                found = await store.get("t", "n")
                value = int(found.value) + 1 if found else 1
                try:
                    await store.commit(Put("t", "n", str(value).encode(), found.version if found else 0),
                                       Append("log", [b""], value - 1), Notify("counted"))
                    break
                except Conflict:
                    pass
        print(number, flush=True)
    await store.close()

asyncio.run(main())
"""


def store(folder: Path, **options: Any) -> SqliteStore:
    settings = validate(SqliteStore.Settings, options, secrets=Secrets(environ={}), place="test")
    return SqliteStore(PluginContext("sqlite", settings, folder))


def process(what: str, folder: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROCESS, what, str(folder), str(count)]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout
    assert started.stdout.readline() == "ready\n"
    return started


def go(*processes: subprocess.Popen[str]) -> None:
    for each in processes:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("stop", [0, 1, 40])
async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, stop: int) -> None:
    """After kill -9 in the middle of writing all commits that returned are there, and each of them whole."""
    victim = process("append", tmp_path, 10_000)
    go(victim)
    assert victim.stdout
    while (acknowledged := int(victim.stdout.readline())) < stop:
        pass
    victim.send_signal(signal.SIGKILL)
    rest, _ = victim.communicate()
    acknowledged = max([acknowledged, *(int(line) for line in rest.split())])
    found = store(tmp_path)
    with structlog.testing.capture_logs() as logs:
        last = await found.get("t", "last")
        assert last is not None
        assert int(last.value) >= acknowledged
        assert await found.end("log") == int(last.value) + 1
        await found.commit(Append("log", [b"y"], int(last.value) + 1))
    assert logs == []
    await found.close()


@pytest.mark.slow
async def test_processes_share_the_file(tmp_path: Path) -> None:
    """They begin together with no file, none loses what another has counted, and a waiter of this process is woken."""
    here = store(tmp_path)
    others = [process("count", tmp_path, 60) for _ in range(3)]
    go(*others)
    seen = 0
    async with asyncio.timeout(60):
        while await here.end("log") < 180:
            seen = await here.signal("counted", seen, 10.0)
    assert all(each.wait(10) == 0 for each in others)
    found = await here.get("t", "n")
    assert found is not None
    assert found.value == b"180"
    for each in others:
        each.communicate()
    await here.close()


@pytest.mark.slow
async def test_the_loop_goes_on_while_another_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads are answered meanwhile; a write waits for its turn, and then says who holds the file."""
    monkeypatch.setattr("doorward_store_sqlite.WAIT_SECONDS", 0.5)
    found = store(tmp_path)
    await found.commit(Put("t", "k", b"1"))
    holder = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    other = store(tmp_path)
    writing = asyncio.ensure_future(other.commit(Put("t", "k", b"2")))
    longest, before = 0.0, time.monotonic()
    while not writing.done():
        assert (await found.get("t", "k")) is not None
        await asyncio.sleep(0.01)
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    assert longest < 0.4
    with pytest.raises(StateError, match="another process holds it locked"):
        await writing
    holder.execute("ROLLBACK")
    await other.commit(Put("t", "k", b"2"))
    holder.close()
    await found.close()
    await other.close()


async def test_to_read_makes_no_file(tmp_path: Path) -> None:
    """Nor does a store that nobody uses; what is written is for its owner alone."""
    found = store(tmp_path / "state")
    assert await found.get("t", "k") is None
    assert [*await found.scan("t")] == []
    assert (await found.end("l"), await found.blob("x"), await found.signal("s")) == (0, None, 0)
    assert not [*(tmp_path / "state").glob("*")]
    await found.commit(Put("t", "k", b""))
    assert (tmp_path / "state/store.db").stat().st_mode & 0o777 == 0o600
    await found.close()


async def test_a_broken_file_is_put_aside(tmp_path: Path) -> None:
    """With a line in the log, and the store begins anew."""
    (tmp_path / "store.db").write_bytes(b"no database " * 100)
    found = store(tmp_path)
    with structlog.testing.capture_logs() as logs:
        assert await found.get("t", "k") is None
        await found.commit(Put("t", "k", b"1"))
    assert [each["event"] for each in logs] == ["store_put_aside"]
    assert (tmp_path / "store.db.broken").read_bytes().startswith(b"no database")
    await found.close()


async def test_a_file_that_breaks_is_put_aside(tmp_path: Path) -> None:
    """While it is in use: one step fails and says so, the next one has a new file."""
    found = store(tmp_path)
    await found.commit(Put("t", "k", b"1"))
    await found.close()
    db = sqlite3.connect(tmp_path / "store.db")
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'records'").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    with (tmp_path / "store.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    again = store(tmp_path)
    with structlog.testing.capture_logs() as logs:
        with pytest.raises(StateError):
            await again.get("t", "k")
        await again.commit(Put("t", "k", b"2", expected=0))
    assert [each["event"] for each in logs] == ["store_put_aside"]
    await again.close()


async def test_a_file_that_was_removed_is_made_anew(tmp_path: Path) -> None:
    """By an operator, while the store is open."""
    found = store(tmp_path)
    await found.commit(Put("t", "k", b"1"))
    for file in tmp_path.glob("store.db*"):
        file.unlink()
    assert await found.get("t", "k") is None
    await found.commit(Put("t", "k", b"2", expected=0))
    await found.close()


@pytest.mark.parametrize("how", ["link", "hard link", "folder", "text"])
async def test_what_is_not_ours_is_not_touched(tmp_path: Path, how: str) -> None:
    """No link is followed, and what is no database stays, where somebody has given the path."""
    other, path = tmp_path / "other", tmp_path / "mine.db"
    other.write_text("precious")
    if how == "folder":
        path.mkdir()
    else:
        {"link": path.symlink_to, "hard link": path.hardlink_to, "text": lambda _: path.write_text("precious")}[how](
            other
        )
    found = store(tmp_path, path=str(path))
    for step in (found.get("t", "k"), found.commit(Put("t", "k", b""))):
        with pytest.raises(StateError, match="not touched"):
            await step
    assert other.read_text() == "precious"
    await found.close()


async def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """The commit fails and says so; what was there is there, and a smaller one is made."""
    found = store(tmp_path)
    await found.commit(Put("t", "k", b"1"))
    writer = found._writer._db
    assert writer is not None
    await found._writer.run(lambda: writer.execute("PRAGMA max_page_count = 40"))
    with pytest.raises(StateError, match="disk is full"):
        await found.commit(Put("t", "k", b"2"), PutBlob("x", b"x" * 2**20))
    record = await found.get("t", "k")
    assert record is not None
    assert record.value == b"1"
    assert await found.blob("x") is None
    await found.commit(Put("t", "k", b"3"))
    await found.close()


async def test_each_write_survives_a_power_cut_with_sync(tmp_path: Path) -> None:
    """`sync` has SQLite wait for the disk."""
    for sync, level in ((True, 2), (False, 1)):
        found = store(tmp_path, sync=sync)
        await found.commit(Put("t", "k", b""))
        writer = found._writer._db
        assert writer is not None
        assert (await found._writer.run(lambda db=writer: db.execute("PRAGMA synchronous").fetchone()))[0] == level
        await found.close()


async def test_what_has_expired_is_removed(tmp_path: Path) -> None:
    """Not only hidden: the file does not grow."""
    now = [1000.0]
    found = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), tmp_path), clock=lambda: now[0])
    await found.commit(Put("t", "k", b"", ttl=1), PutBlob("x", b"", ttl=1), Put("t", "stays", b""))
    now[0] += 2
    found._swept = None
    await found.commit(Notify("any"))
    with sqlite3.connect(tmp_path / "store.db") as db:
        assert db.execute("SELECT key FROM records").fetchall() == [("stays",)]
        assert db.execute("SELECT count(*) FROM blobs").fetchone() == (0,)
    db.close()
    await found.close()


async def test_a_commit_of_nothing_removes_what_has_expired(tmp_path: Path) -> None:
    """As the gateway makes one now and then: nothing of it is left in the file or its log, and no file is made for
    it."""
    now = [1000.0]
    found = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), tmp_path), clock=lambda: now[0])
    await found.commit()
    assert not [*tmp_path.iterdir()]
    await found.commit(PutBlob("x", b"of somebody " * 500, ttl=1), Put("t", "stays", b""))
    await found.commit()
    assert await found.blob("x")
    now[0] += 2
    await found.commit()
    assert b"of somebody" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert await found.get("t", "stays")
    await found.commit(Put("t", "later", b""))
    await found.close()


def test_the_tables_are_those_of_sqlite_utils(tmp_path: Path) -> None:
    """A new file is made by SQL, because to import sqlite-utils takes long. Both make the same."""

    def made(name: str, layout: SqliteLayout) -> list[Any]:
        file = SqliteFile(tmp_path / name, layout, event="x", hint="x")
        db = file.opened(1)
        try:
            return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        finally:
            db.close()

    assert made("new.db", LAYOUT) == made("stepped.db", replace(LAYOUT, made=""))


async def test_a_commit_survives_a_power_cut_if_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It alone waits for the disk, and for the name of a new file."""
    levels: list[int] = []
    synced: list[Path] = []
    make = statements.make

    def noted(db: sqlite3.Connection, *made: Any) -> None:
        levels.append(db.execute("PRAGMA synchronous").fetchone()[0])
        make(db, *made)

    monkeypatch.setattr(statements, "make", noted)
    monkeypatch.setattr(doorward_store_sqlite, "sync_names", synced.append)
    stored = store(tmp_path)
    for sync in (False, True, True, False):
        await stored.commit(Put("t", "k", b""), sync=sync)
    await stored.close()
    assert levels == [1, 2, 2, 1]
    assert synced == [tmp_path]
