"""The SQLite cache: whose program, how long, how many, and what no crash or bad file may do to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import doorward_cache_sqlite
import pytest
import structlog
from doorward import ConfigError, PluginContext
from doorward.files import SqliteFile, SqliteLayout, alone
from doorward.sandboxing import CachedProgram
from doorward_cache_sqlite import RETRY_SECONDS, SqliteCache
from doorward_cache_sqlite.programs import LAYOUT, row_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def cache(state: Path, clock: Any = time.time, **settings: Any) -> SqliteCache:
    return SqliteCache(PluginContext("sqlite", SqliteCache.Settings.model_validate(settings), state), clock=clock)


def program(cache_id: str, principal: str = "ann", digest: str = "", **more: Any) -> CachedProgram:
    base = CachedProgram(
        cache_id=cache_id,
        principal=principal,
        code="city = 'Bath'\nresult = city",
        description="a city",
        params={"city": "Bath", "deep": {"a": [1, None, 2.5, "ü\ud800"]}},
        functions=("weather.*",),
        uses={"weather.get": "abc"},
        digest=digest or f"digest-{cache_id}",
        created=12.5,
    )
    return replace(base, **more)


async def test_what_is_put_is_got(tmp_path: Path) -> None:
    """CONTRACT: CAC-03. A program comes back whole, also after the process that kept it is gone."""
    kept = program("one")
    first = cache(tmp_path)
    assert await first.put(kept) == "one"
    assert await first.get("one", "ann") == kept
    await first.close()
    everything = program("two", functions=None)
    again = cache(tmp_path)
    assert await again.put(everything) == "two"
    assert await again.get("one", "ann") == kept
    assert await again.get("two", "ann") == everything
    await again.close()


async def test_nobody_else_can_name_a_program(tmp_path: Path) -> None:
    """A program belongs to its principal: for others its id does not exist, and does not stand in their way."""
    kept = cache(tmp_path)
    await kept.put(program("one"))
    assert await kept.get("one", "bob") is None
    assert await kept.get("one", "") is None
    assert await kept.put(program("one", "bob", "other", code="pass")) == "one"
    assert (await kept.get("one", "ann")).code == program("one").code  # type: ignore[union-attr]
    assert (await kept.get("one", "bob")).code == "pass"  # type: ignore[union-attr]
    await kept.close()


async def test_an_equal_program_keeps_its_id(tmp_path: Path) -> None:
    """The same principal and digest get the id of the first put, with what was learnt last; another principal does
    not."""
    kept = cache(tmp_path)
    await kept.put(program("one", digest="same"))
    assert await kept.put(program("two", digest="same", uses={"weather.get": "new"})) == "one"
    assert await kept.get("two", "ann") is None
    assert (await kept.get("one", "ann")).uses == {"weather.get": "new"}  # type: ignore[union-attr]
    assert await kept.put(program("three", "bob", "same")) == "three"
    await kept.close()


async def test_time_counts_from_the_last_use(tmp_path: Path) -> None:
    """CONTRACT: CAC-03. A put and a get each start the time anew; unused for `ttl` seconds, the program is gone."""
    clock = Clock()
    kept = cache(tmp_path, clock, ttl=100)
    await kept.put(program("one"))
    clock.now += 99
    await kept.put(program("again", digest="digest-one"))
    clock.now += 99
    assert await kept.get("one", "ann")
    clock.now += 99
    assert await kept.get("one", "ann")
    clock.now += 100
    assert await kept.get("one", "ann") is None
    await kept.close()


async def test_an_expired_id_stays_dead(tmp_path: Path) -> None:
    """A program put again after its time gets the new id, and the old one names nothing."""
    clock = Clock()
    kept = cache(tmp_path, clock, ttl=100)
    await kept.put(program("old", digest="same"))
    clock.now += 101
    assert await kept.put(program("new", digest="same")) == "new"
    assert await kept.get("old", "ann") is None
    await kept.close()


async def test_the_longest_unused_goes_first(tmp_path: Path) -> None:
    """CONTRACT: CAC-03. Above `max_entries`, of all principals together, the least recently used program is dropped."""
    clock = Clock()
    kept = cache(tmp_path, clock, max_entries=2)
    for name in ("one", "two"):
        await kept.put(program(name))
        clock.now += 1
    assert await kept.get("one", "ann")
    clock.now += 1
    await kept.put(program("three"))
    assert await kept.get("two", "ann") is None
    assert await kept.get("one", "ann")
    assert await kept.get("three", "ann")
    await kept.close()


async def test_what_waits_to_be_written_was_used_when_it_was_put(tmp_path: Path) -> None:
    """What is got before it is written, but after it was put, was used later."""
    clock = Clock()
    kept = cache(tmp_path, clock, max_entries=2)
    await kept.put(program("one"))
    clock.now += 1
    writing = asyncio.ensure_future(kept.put(program("two")))
    await asyncio.sleep(0)
    clock.now += 1
    assert await kept.get("one", "ann")
    clock.now += 1
    await writing
    await kept.put(program("three"))
    assert await kept.get("two", "ann") is None
    assert await kept.get("one", "ann")
    await kept.close()


@pytest.mark.slow
async def test_nobody_drives_out_what_others_keep(tmp_path: Path) -> None:
    """Room is made at the cost of the principal who has most; what was just put stays."""
    clock = Clock()
    kept = cache(tmp_path, clock, max_entries=5)
    for name in ("first", "second"):
        await kept.put(program(name, "bob"))
    for n in range(20):
        clock.now += 1
        await kept.put(program(f"ann-{n}"))
    assert [await kept.get(name, "bob") is not None for name in ("first", "second")] == [True, True]
    assert [n for n in range(20) if await kept.get(f"ann-{n}", "ann")] == [17, 18, 19]
    await kept.close()


async def test_a_clock_that_goes_back_loses_nothing_new(tmp_path: Path) -> None:
    """A program that was just put is not the one to go, also when the others seem to be of tomorrow."""
    clock = Clock()
    kept = cache(tmp_path, clock, max_entries=1)
    await kept.put(program("one"))
    clock.now -= 86400
    assert await kept.put(program("two")) == "two"
    assert await kept.get("two", "ann")
    await kept.close()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
async def test_only_the_user_can_read_the_file(tmp_path: Path) -> None:
    """Code may be confidential: the file and its log have mode 0600, also when the file was there before."""
    path = tmp_path / "deep" / "programs.db"
    kept = cache(tmp_path, path=path)
    await kept.put(program("one"))
    assert {stat.S_IMODE(f.stat().st_mode) for f in path.parent.iterdir()} == {0o600}
    await kept.close()
    path.chmod(0o644)
    await (again := cache(tmp_path, path=path)).get("one", "ann")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await again.close()


def _foreign(path: Path, version: int) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
        db.execute(f"PRAGMA user_version = {version}")
    db.close()


BROKEN = {
    "text": lambda path: path.write_text("this is no database\n" * 100),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 64),
    "foreign": lambda path: _foreign(path, 0),
    "foreign of our version": lambda path: _foreign(path, 1),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_bad_file_is_moved_aside(tmp_path: Path, kind: str) -> None:
    """A file that is no database, or not ours, is kept under another name; the cache is begun anew with a warning."""
    path = tmp_path / "programs.db"
    BROKEN[kind](path)
    before = path.read_bytes()
    kept = cache(tmp_path, Clock())
    with structlog.testing.capture_logs() as logs:
        assert await kept.get("one", "ann") is None
    assert await kept.put(program("one")) == "one"
    aside = tmp_path / "programs.db.broken-19700112T134640"
    assert aside.read_bytes() == before
    assert [(e["log_level"], e["event"], e["moved_to"]) for e in logs] == [("warning", "cache_begun_anew", str(aside))]
    await kept.close()


@pytest.mark.slow
async def test_a_file_that_breaks_while_in_use(tmp_path: Path) -> None:
    """Pages overwritten under the running process are noticed, and the call still succeeds."""
    kept = cache(tmp_path)
    for n in range(20):
        await kept.put(program(f"p{n}", code="x" * 5000))
    await kept.close()
    path = tmp_path / "programs.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    with structlog.testing.capture_logs() as logs:
        assert await kept.put(program("new")) == "new"
        assert await kept.get("new", "ann")
    assert len(logs) == 1
    await kept.close()


AS_BEFORE = """
CREATE TABLE programs (principal TEXT NOT NULL, cache_id TEXT NOT NULL, digest TEXT NOT NULL, used REAL NOT NULL, program TEXT NOT NULL,
    PRIMARY KEY (principal, cache_id), UNIQUE (principal, digest));
CREATE INDEX programs_used ON programs (used);
PRAGMA application_id = 0x446F6F72;
PRAGMA user_version = 1;
"""
"""As files were made before sqlite-utils made them."""


async def test_a_file_of_before_is_used(tmp_path: Path) -> None:
    """It has the same columns, and is neither put aside nor changed."""
    with sqlite3.connect(tmp_path / "programs.db") as db:
        db.executescript(AS_BEFORE)
        db.execute(
            "INSERT INTO programs VALUES (:principal, :cache_id, :digest, :used, :program)",
            row_of(program("one"), time.time()),
        )
    db.close()
    kept = cache(tmp_path)
    with structlog.testing.capture_logs() as logs:
        assert await kept.get("one", "ann") == program("one")
        assert await kept.put(program("two", digest="digest-one")) == "one"
    assert logs == []
    await kept.close()


async def test_a_program_of_before_is_python(tmp_path: Path) -> None:
    """A row that was written when there was one language says none; a new one says its own, and it comes back."""
    kept = cache(tmp_path)
    await kept.put(program("one"))
    await kept.put(program("two", language="typescript"))
    with sqlite3.connect(tmp_path / "programs.db") as db:
        [(text,)] = db.execute("SELECT program FROM programs WHERE cache_id = 'one'")
        assert json.loads(text).pop("language") == "python"
        before = {name: value for name, value in json.loads(text).items() if name != "language"}
        db.execute("UPDATE programs SET program = ? WHERE cache_id = 'one'", [json.dumps(before)])
    db.close()
    assert await kept.get("one", "ann") == program("one")
    assert (await kept.get("two", "ann")).language == "typescript"  # type: ignore[union-attr]
    await kept.close()


@pytest.mark.slow
async def test_a_new_file_is_what_the_steps_come_to(tmp_path: Path) -> None:
    """Tables, columns and indexes; whether sqlite-utils makes them or, as it is imported for long, we do."""

    def made(name: str, layout: SqliteLayout) -> tuple[object, ...]:
        db = SqliteFile(tmp_path / name, layout, event="", hint="").opened(1)
        there = db.execute("SELECT type, name, tbl_name FROM sqlite_master ORDER BY type, name").fetchall()
        parts = {row: db.execute(f"PRAGMA {row[0]}_info({row[1]})").fetchall() for row in there}
        found = (
            parts,
            db.execute("PRAGMA index_list(programs)").fetchall(),
            db.execute("PRAGMA user_version").fetchone(),
        )
        db.close()
        return found

    assert made("new.db", LAYOUT) == made("stepped.db", replace(LAYOUT, made=""))


@pytest.mark.slow
async def test_the_first_program_waits_for_no_import(tmp_path: Path) -> None:
    """It is kept in a new file without sqlite-utils."""
    code = WRITER + "\nprint('sqlite_utils' in sys.modules)"
    words = [sys.executable, "-c", code, str(tmp_path), "ann", "1"]
    assert subprocess.run(words, input="go\n", capture_output=True, text=True, check=True).stdout == "0\nFalse\n"


async def test_a_step_adds_a_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version keeps what is in the file of this one; for this one, a file of a later version is another's."""
    old, new = cache(tmp_path), cache(tmp_path)
    await old.put(program("one"))

    def with_title(db: Any) -> None:
        db.table("programs").add_column("title", str)

    monkeypatch.setattr(new._file, "_layout", replace(LAYOUT, steps=(*LAYOUT.steps, with_title)))
    assert await new.get("one", "ann") == program("one")
    assert await old.get("one", "ann"), "who has it open goes on"
    await old.close()
    await new.close()
    with structlog.testing.capture_logs() as logs:
        assert await old.get("one", "ann") is None
    assert [e["event"] for e in logs] == ["cache_begun_anew"]
    await old.close()


@pytest.mark.parametrize(
    "text",
    ["garbage", "{}", "[]", "null", "[" * 100_000]
    + [f'{{"code": "1", "description": "", "params": {{}}, "uses": {{}}, "created": 1, "functions": null, {more}}}'
       for more in ('"code": 5', '"params": [1]', '"uses": 7', '"functions": "abc"', '"functions": [5]', '"created": "now"')],
)  # fmt: skip
async def test_a_row_that_somebody_else_wrote(tmp_path: Path, text: str) -> None:
    """It is no program: whoever wants it is told that there is none, and nothing breaks."""
    made = cache(tmp_path)
    await made.put(program("one"))
    await made.put(program("other"))
    with sqlite3.connect(tmp_path / "programs.db") as db:
        db.execute("UPDATE programs SET program = ? WHERE cache_id = 'one'", (text,))
    db.close()
    assert await made.get("one", "ann") is None
    assert await made.get("other", "ann") == program("other")
    assert await made.put(program("one")) == "one"
    assert await made.get("one", "ann") == program("one")
    await made.close()


async def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Where no file can be made, the error says which path and why; nothing is moved."""
    folder = tmp_path / "programs.db"
    folder.mkdir()
    with pytest.raises(ConfigError, match=r"programs\.db: is not a regular file"):
        await cache(tmp_path).get("one", "ann")
    assert folder.is_dir()
    with pytest.raises(ConfigError, match="cannot be used"):
        await cache(tmp_path, path="/dev/null/programs.db").put(program("one"))


async def test_a_path_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file that the operator names and that never was a cache is neither moved aside nor chmodded."""
    (tmp_path / "passwd").write_text("root:x:0:0:root\n" * 100)
    (tmp_path / "passwd").chmod(0o644)
    with pytest.raises(ConfigError, match="is no SQLite file, so it is not touched"):
        await cache(tmp_path, path=tmp_path / "passwd").put(program("one"))
    assert [path.name for path in tmp_path.iterdir()] == ["passwd"]
    assert stat.S_IMODE((tmp_path / "passwd").stat().st_mode) == 0o644
    (tmp_path / "passwd").write_bytes(b"")
    made = cache(tmp_path, path=tmp_path / "passwd")
    assert await made.put(program("one"))
    await made.close()


async def test_a_busy_file_is_waited_for_and_never_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that holds the lock for too long makes an error, not a new cache."""
    monkeypatch.setattr("doorward_cache_sqlite.BUSY_WAIT_SECONDS", 0.01)
    await (first := cache(tmp_path)).put(program("one"))
    await first.close()
    holder = sqlite3.connect(tmp_path / "programs.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(ConfigError, match="locked"):
        await (second := cache(tmp_path)).put(program("two"))
    holder.execute("ROLLBACK")
    holder.close()
    assert await second.get("one", "ann")
    assert not list(tmp_path.glob("*.broken-*"))
    await second.close()


@pytest.mark.slow
async def test_who_only_reads_waits_for_nobody(tmp_path: Path) -> None:
    """A kept program is got while another process writes, or holds the file; a reader that is new, too."""
    old, new = cache(tmp_path), cache(tmp_path)
    await old.put(program("one"))
    holder = sqlite3.connect(tmp_path / "programs.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    assert await old.get("one", "ann")
    assert await new.get("one", "ann")
    assert time.monotonic() - began < doorward_cache_sqlite.BUSY_WAIT_SECONDS
    holder.close()
    await old.close()
    await new.close()


@pytest.mark.slow
async def test_who_waits_to_write_keeps_no_reader(tmp_path: Path) -> None:
    """Programs are got while others of the same process wait for a file that is held."""
    kept = cache(tmp_path)
    await kept.put(program("one"))
    holder = sqlite3.connect(tmp_path / "programs.db", isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    waiting = True

    async def put() -> None:
        nonlocal waiting
        with pytest.raises(ConfigError, match="locked"):
            await kept.put(program("two"))
        waiting = False

    got = 0
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(put)
        await anyio.sleep(RETRY_SECONDS)
        while waiting and got < 5:
            assert await kept.get("one", "ann")
            got += 1
        assert got == 5
    holder.close()
    await kept.close()


@pytest.mark.slow
async def test_who_waits_does_not_wait_for_the_others_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many that ask for a file that is locked wait side by side, not one after the other."""
    monkeypatch.setattr(doorward_cache_sqlite, "BUSY_WAIT_SECONDS", 0.5)
    kept = cache(tmp_path)
    await kept.put(program("one"))
    holder = sqlite3.connect(tmp_path / "programs.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    failed = []

    async def put(number: int) -> None:
        with pytest.raises(ConfigError, match=r"locked|busy"):
            await kept.put(program(f"p{number}"))
        failed.append(number)

    began = time.monotonic()
    async with anyio.create_task_group() as group:
        for number in range(16):
            group.start_soon(put, number)
    assert len(failed) == 16
    assert time.monotonic() - began < 16 * 0.5 / 2
    holder.close()
    assert await kept.put(program("two")) == "two"
    await kept.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
async def test_who_waits_to_open_keeps_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the folder, the cache can be closed, and a file that is there is read; who waited to
    make it gets it as soon as the folder is free."""
    monkeypatch.setattr("doorward_cache_sqlite.BUSY_WAIT_SECONDS", 10.0)
    kept, got = cache(tmp_path), list[object]()

    async def put() -> None:
        got.append(await kept.put(program("one")))

    async with anyio.create_task_group() as group:
        with alone(tmp_path / "programs.db"):
            group.start_soon(put)
            await anyio.sleep(5 * RETRY_SECONDS)
            await kept.close()
            assert got == []
    assert got == ["one"]
    await kept.close()
    monkeypatch.setattr("doorward_cache_sqlite.BUSY_WAIT_SECONDS", 0.01)
    with alone(tmp_path / "programs.db"):
        assert await kept.get("one", "ann")
    await kept.close()
    (tmp_path / "programs.db").unlink()
    with alone(tmp_path / "programs.db"), pytest.raises(ConfigError, match="another process changes files") as raised:
        await kept.get("one", "ann")
    assert "try again" in str(raised.value.hint)


@pytest.mark.parametrize("harm", ["removed", "emptied", "cleaned"])
async def test_a_file_that_is_taken_away_while_in_use(tmp_path: Path, harm: str) -> None:
    """Programs are kept again after the file is gone; an old log beside it is not taken for that of the new one."""
    kept, path = cache(tmp_path), tmp_path / "programs.db"
    await kept.put(program("one"))
    if harm == "emptied":
        path.write_bytes(b"")
    for file in [*tmp_path.glob("programs.db*")] if harm == "cleaned" else [path] if harm == "removed" else []:
        file.unlink()
    assert await kept.put(program("two")) == "two"
    assert await kept.get("two", "ann")
    other = cache(tmp_path)
    assert await other.get("two", "ann")
    await kept.close()
    await other.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        "{}",
        '{"code": 5, "description": "", "params": {}, "functions": null, "uses": {}, "created": 1}',
    ],
)
async def test_what_somebody_edited_is_no_program(tmp_path: Path, text: str) -> None:
    """A row that is none of ours is as good as none, for its principal."""
    kept = cache(tmp_path)
    await kept.put(program("one"))
    with sqlite3.connect(tmp_path / "programs.db") as db:
        db.execute("UPDATE programs SET program = ?", [text])
    db.close()
    assert await kept.get("one", "ann") is None
    await kept.close()


@pytest.mark.skipif(sys.platform == "win32", reason="links and owners of POSIX")
@pytest.mark.parametrize("name", ["programs.db", "programs.db-wal", "programs.db-journal"])
async def test_no_link_is_followed(tmp_path: Path, name: str) -> None:
    """Where somebody has put a link to another file, that file is not touched, and the error says why."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / name).symlink_to(victim)
    if name != "programs.db":
        (state / "programs.db").touch()
    with pytest.raises(ConfigError, match="is a link"):
        await cache(state).put(program("one"))
    assert victim.read_bytes() == b""


WRITER = """
import sys, anyio
from pathlib import Path
from doorward import PluginContext
from doorward.sandboxing import CachedProgram
from doorward_cache_sqlite import SqliteCache
state, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
async def main():
    cache = SqliteCache(PluginContext("sqlite", SqliteCache.Settings(), state))
    sys.stdin.readline()
    for n in range(count):
        await cache.put(CachedProgram(f"{who}-{n}", who, "x" * 3000, "", {}, None, {}, f"d{n}", 0.0))
        print(n, flush=True)
anyio.run(main)
"""


def writer(state: Path, who: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(state), who, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
async def test_processes_share_the_file(tmp_path: Path) -> None:
    """Processes that start on the same new file at the same moment lose nothing of one another."""
    names = ["ann", "bob", "cyd"]
    writers = [writer(tmp_path, name, 30) for name in names]
    for each in writers:
        each.stdin.write("go\n")  # type: ignore[union-attr]
        each.stdin.flush()  # type: ignore[union-attr]
    assert [(each.communicate()[0].count("\n"), each.returncode) for each in writers] == [(30, 0)] * 3
    kept = cache(tmp_path)
    assert all([await kept.get(f"{name}-{n}", name) for name in names for n in range(30)])
    await kept.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
async def test_a_kill_at_any_time_leaves_a_sound_file(tmp_path: Path) -> None:
    """After kill -9 in the middle of writing, all that was reported as kept is there."""
    for stop in (0, 1, 25):
        victim = writer(tmp_path, f"p{stop}", 10_000)
        assert victim.stdin
        assert victim.stdout
        victim.stdin.write("go\n")
        victim.stdin.flush()
        while int(victim.stdout.readline()) < stop:
            pass
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        kept = cache(tmp_path)
        with structlog.testing.capture_logs() as logs:
            assert await kept.get(f"p{stop}-{stop}", f"p{stop}")
        assert logs == []
        await kept.close()


@pytest.mark.slow
async def test_put_and_get_are_quick(tmp_path: Path) -> None:
    """A put and a get together typically take less than a millisecond of processor time (the bound here is wide, for
    slow machines)."""
    kept = cache(tmp_path)
    await kept.put(program("warm"))
    times = []
    for n in range(31):
        start = time.process_time()
        await kept.put(program(f"p{n}"))
        await kept.get(f"p{n}", "ann")
        times.append(time.process_time() - start)
    await kept.close()
    median = sorted(times)[15]
    print(f"put + get: median {median * 1000:.2f} ms")
    assert median < 0.01


async def test_programs_that_are_put_at_once_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred programs cost a few transactions; each has its own id, an equal one the id of the first, and a cache
    that ends has written all."""
    statements: list[str] = []
    kept = cache(tmp_path)
    await kept.put(program("first"))
    assert kept._connection is not None
    kept._connection.set_trace_callback(statements.append)
    names = [f"p{number % 50}" for number in range(100)]
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(kept.put, program(name))
        await anyio.sleep(0)
        await kept.close()
    assert sum(statement.startswith("BEGIN") for statement in statements) <= 2
    again = cache(tmp_path)
    assert all([await again.get(name, "ann") for name in names])
    await again.close()


async def test_a_program_that_cannot_be_written_costs_no_other_its_place(tmp_path: Path) -> None:
    """Programs are written together, of all principals: one with a number that JSON cannot write ends none of them."""
    kept = cache(tmp_path)
    hostile = program("c", "eve", params={"n": 1 << 20_000})
    found = await asyncio.gather(
        *(kept.put(each) for each in (program("a"), program("b"), hostile, program("d", "bob"))), return_exceptions=True
    )
    assert isinstance(found.pop(2), ValueError)
    assert found == ["a", "b", "d"]
    assert (await kept.get("d", "bob")) is not None
    await kept.close()
