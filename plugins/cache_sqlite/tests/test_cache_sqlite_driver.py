"""The cache in the store: whose program, how long, how many, and what no crash may do to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from doorward import PluginContext, StateError
from doorward.engines import Put
from doorward.sandboxing import CachedProgram
from doorward_cache_sqlite import SqliteCache, SqliteSettings
from doorward_cache_sqlite.programs import text_of
from doorward_store_sqlite import SqliteStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Kept(SqliteCache):
    """The cache of one process, with its store."""

    def __init__(self, state: Path, clock: Any, settings: Any) -> None:
        store = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), state), clock=clock)
        super().__init__(
            PluginContext("sqlite", SqliteSettings.model_validate(settings), state, store=store), clock=clock
        )

    async def written(self) -> None:
        """Wait until uses are noted, too."""
        if self._writer is not None:
            await self._writer

    async def close(self) -> None:
        await super().close()
        await self._store.close()


def cache(state: Path, clock: Any = time.time, **settings: Any) -> Kept:
    return Kept(state, clock, settings)


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
    assert (SqliteSettings().ttl, SqliteSettings().max_entries) == (3600, 500)
    clock = Clock()
    kept = cache(tmp_path, clock, ttl=100)
    await kept.put(program("one"))
    clock.now += 99
    await kept.put(program("again", digest="digest-one"))
    clock.now += 99
    assert await kept.get("one", "ann")
    await kept.written()
    clock.now += 99
    assert await kept.get("one", "ann")
    await kept.written()
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


AS_BEFORE = """
CREATE TABLE programs (principal TEXT NOT NULL, cache_id TEXT NOT NULL, digest TEXT NOT NULL, used REAL NOT NULL, program TEXT NOT NULL,
    PRIMARY KEY (principal, cache_id), UNIQUE (principal, digest));
"""
"""As files were made before the store."""


async def test_what_an_earlier_version_kept_is_taken_over(tmp_path: Path) -> None:
    """Once for all processes, with its ids and times; one of the time when there was one language is Python. The file
    stays as it is."""
    path, clock = tmp_path / "programs.db", Clock()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.executescript(AS_BEFORE)
        for name, used in (("one", 50), ("gone", 200), ("odd", 50)):
            whole = json.loads(text_of(program(name)))
            rest = {
                key: each for key, each in whole.items() if key not in ("principal", "cache_id", "digest", "language")
            }
            text = "{" if name == "odd" else json.dumps(rest)
            row = (whole["principal"], name, whole["digest"], clock.now - used, text)
            db.execute("INSERT INTO programs VALUES (?, ?, ?, ?, ?)", row)
    processes = [cache(tmp_path, clock, ttl=100), cache(tmp_path, clock, ttl=100)]
    for kept in processes:
        assert await kept.get("one", "ann") == program("one")
        assert (await kept.get("gone", "ann"), await kept.get("odd", "ann")) == (None, None)
        assert await kept.put(program("two", digest="digest-one")) == "one"
        await kept.close()
    assert path.exists()


@pytest.mark.parametrize(
    "text",
    ["garbage", "{}", "[]", "null", "[" * 100_000]
    + [f'{{"code": "1", "description": "", "params": {{}}, "uses": {{}}, "created": 1, "functions": null, {more}}}'
       for more in ('"code": 5', '"params": [1]', '"uses": 7', '"functions": "abc"', '"functions": [5]', '"created": "now"')],
)  # fmt: skip
async def test_a_record_that_somebody_else_wrote(tmp_path: Path, text: str) -> None:
    """It is no program: whoever wants it is told that there is none, and nothing breaks."""
    made = cache(tmp_path)
    await made.put(program("one"))
    await made.put(program("other"))
    await made._store.commit(Put("programs", '"ann" one', text.encode()))
    assert await made.get("one", "ann") is None
    assert await made.get("other", "ann") == program("other")
    assert await made.put(program("one")) == "one"
    assert await made.get("one", "ann") == program("one")
    await made.close()


async def test_a_store_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """The error says which file and why."""
    (tmp_path / "store.db").mkdir()
    kept = cache(tmp_path)
    for asked in (kept.get("one", "ann"), kept.put(program("one"))):
        with pytest.raises(StateError, match=r"store\.db: is not a regular file"):
            await asked
    await kept.close()


@pytest.mark.slow
async def test_who_only_reads_waits_for_nobody(tmp_path: Path) -> None:
    """A kept program is got while another process writes, or holds the file; a reader that is new, too."""
    old, new = cache(tmp_path), cache(tmp_path)
    await old.put(program("one"))
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        assert await old.get("one", "ann")  # whoever waited would do so in vain: nothing is let go before the end
        new._earlier = None  # to take over is to write
        assert await new.get("one", "ann")
    await old.close()
    await new.close()


WRITER = """
import sys, anyio
from pathlib import Path
from doorward import PluginContext
from doorward.sandboxing import CachedProgram
from doorward_cache_sqlite import SqliteCache
from doorward_store_sqlite import SqliteStore
state, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
async def main():
    store = SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), state))
    cache = SqliteCache(PluginContext("sqlite", SqliteCache.Settings(), state, store=store))
    sys.stdin.readline()
    for n in range(count):
        await cache.put(CachedProgram(f"{who}-{n}", who, "x" * 3000, "", {}, None, {}, f"d{n}", 0.0))
        print(n, flush=True)
    await cache.close()
    await store.close()
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
    commits: list[int] = []
    kept = cache(tmp_path)
    await kept.put(program("first"))
    commit = kept._store.commit

    async def counted(*changes: Any, **more: Any) -> int:
        commits.append(len(changes))
        return await commit(*changes, **more)

    monkeypatch.setattr(kept._store, "commit", counted)
    names = [f"p{number % 50}" for number in range(100)]
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(kept.put, program(name))
        await anyio.sleep(0)
        await kept.close()
    assert len(commits) <= 2
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
