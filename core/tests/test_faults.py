"""A catalog, cache or disk in trouble: nobody waits who does not need it, and what can be made anew is made anew."""

from __future__ import annotations

import contextlib
import inspect
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from doorward import Compiled, Function
from doorward.catalog.catalog import Catalog
from doorward.model.errors import StateError
from doorward_store_sqlite.catalog import SqliteCatalog

from .conftest import InProcess, Weather

pytestmark = pytest.mark.anyio

CONFIG = """
executor = "inprocess"
cache = "none"
plugins = []
[servers.weather]
source = "weather"
"""
CALL = "result = await weather.get_forecast(city='Oslo')"
HIGH = {"city": "Oslo", "high": 20.5}
EXCLUSIVE = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
HOLDERS = {
    "a transaction": "db.execute('BEGIN EXCLUSIVE')",
    "for itself": "db.execute('PRAGMA locking_mode = EXCLUSIVE')\ndb.execute('UPDATE compiles SET number = number')",
}


@pytest.fixture
def weather(host: Any) -> Any:
    host.install("source", "weather", Weather)
    host.install("executor", "inprocess", InProcess)
    return host


@contextlib.contextmanager
def locked(file: Path, how: str) -> Iterator[None]:
    """Another process holds the file."""
    code = f"{EXCLUSIVE}{how}\nprint('held', flush=True)\nsys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.communicate(b"")


async def until(true: Callable[[], Any]) -> None:
    with anyio.fail_after(100):
        while not true():
            await anyio.sleep(0.02)


def broken_in_the_middle(file: Path) -> None:
    """All but the first page, as a disk would do it."""
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(os.urandom(file.stat().st_size - 4096))


BREAK = f"""
import os, sqlite3, sys
from pathlib import Path
{inspect.getsource(broken_in_the_middle)}
broken_in_the_middle(Path(sys.argv[1]))
"""


def removed(file: Path) -> None:
    file.unlink()


def cleaned(file: Path) -> None:
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def replaced(file: Path) -> None:
    """By another process that has not compiled yet."""
    cleaned(file)
    SqliteCatalog(file).made().close()


@pytest.mark.slow
@pytest.mark.parametrize("how", HOLDERS.values(), ids=HOLDERS)
async def test_a_locked_catalog_keeps_nobody(weather: Any, how: str) -> None:
    """While another process holds the catalog, programs run at once, with functions or without; and it is not
    deleted."""
    async with weather.gateway(CONFIG) as gate:
        assert (await gate.execute(CALL)).ok
        code = (
            how
            if "locking_mode" not in how
            else "db.execute('PRAGMA busy_timeout = 1')\ntry:\n    " + how.replace("\n", "\n    ")
        )
        with locked(
            gate.state / "catalog.db", code + ("\nexcept sqlite3.OperationalError:\n    pass" if code != how else "")
        ):
            with anyio.fail_after(60):
                assert (await gate.execute("1 + 1")).value == 2
                assert (await gate.execute(CALL)).value == HIGH
                assert (await gate.list_servers())["servers"][0]["functions"] == 8
    assert (weather.folder / "state/catalog.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("how", HOLDERS.values(), ids=HOLDERS)
async def test_a_catalog_that_is_locked_at_the_start(weather: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway starts although the catalog is locked, runs what needs no function, and reads it as soon as it can be
    had."""
    monkeypatch.setattr("doorward_store_sqlite.catalog.OPEN_WAIT_SECONDS", 0.05)
    monkeypatch.setattr("doorward_store_sqlite.catalog.WRITE_WAIT_SECONDS", 0.05)
    monkeypatch.setattr("doorward.servers.background_refresh.MIN_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr("doorward.servers.background_refresh.ROUND_SECONDS", 0.02)
    async with weather.gateway(CONFIG) as gate:
        await gate.ready()
        file = gate.state / "catalog.db"
    with contextlib.ExitStack() as held:
        held.enter_context(locked(file, how))
        async with weather.gateway(CONFIG) as gate:
            assert (await gate.execute("1 + 1")).value == 2
            assert (await gate.execute(CALL)).value == HIGH, "it can be read, as it was"
            held.close()
            await until(lambda: not gate.catalog.lost)
            await until(lambda: gate.catalog.refresh() or gate.catalog.names("weather"))
            assert (await gate.execute(CALL)).value == HIGH


@pytest.mark.parametrize("harm", [removed, cleaned, emptied, replaced, broken_in_the_middle])
async def test_a_catalog_that_is_lost_while_it_serves(weather: Any, harm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that is removed, emptied, replaced or broken under a gateway is compiled again, with one line that says
    so."""
    monkeypatch.setattr("doorward.servers.background_refresh.ROUND_SECONDS", 0.02)
    async with weather.gateway(CONFIG) as gate:
        assert (await gate.execute(CALL)).ok
        file = gate.state / "catalog.db"
        with structlog.testing.capture_logs() as logs:
            harm(file)
            assert (await gate.execute("1 + 1")).ok
            if harm is broken_in_the_middle:
                with contextlib.suppress(StateError):  # whatever page it falls on
                    list(gate.catalog.functions("weather"))
            await until(lambda: not gate.catalog.lost)
        assert [e["servers"] for e in logs if e["event"] == "catalog_made_anew"] == [1]
        gate.catalog.refresh()
        assert (await gate.execute(CALL)).value == HIGH
        assert len(list(gate.catalog.functions("weather"))) == 8
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM functions").fetchone() == (8,)


@pytest.mark.slow
async def test_a_catalog_that_is_lost_while_it_is_made_anew(weather: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was just compiled is compiled again if its file breaks before it is read."""
    monkeypatch.setattr("doorward.servers.background_refresh.ROUND_SECONDS", 0.02)
    async with weather.gateway(CONFIG) as gate:
        assert (await gate.execute(CALL)).ok
        file, compile_one = gate.state / "catalog.db", gate.compiler.compile_one
        compiled: list[str] = []

        async def compiled_in_vain(name: str) -> Any:
            report = await compile_one(name)
            if not compiled:  # by another process: closing the file here would drop all locks that this one has on it
                await anyio.run_process([sys.executable, "-c", BREAK, str(file)])
            compiled.append(name)
            return report

        monkeypatch.setattr(gate.compiler, "compile_one", compiled_in_vain)
        emptied(file)
        await until(lambda: len(compiled) > 1)
        with anyio.fail_after(100):
            while (await gate.execute(CALL)).value != HIGH:
                await anyio.sleep(0.02)


@pytest.mark.parametrize("harm", [removed, cleaned, replaced])
async def test_what_was_removed_is_served_as_it_was(weather: Any, harm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the new catalog has what the old one had, everybody works with the old one."""
    monkeypatch.setattr("doorward.servers.background_refresh.ROUND_SECONDS", 1000.0)
    async with weather.gateway(CONFIG) as gate:
        assert (await gate.execute(CALL)).ok
        harm(gate.state / "catalog.db")
        assert (await gate.execute(CALL)).value == HIGH
        assert (await gate.search_functions("forecast"))["total"] > 0
        assert (await gate.list_servers())["servers"][0]["functions"] == 8
        gate.servers.broken.clear()


@pytest.mark.parametrize("harm", [removed, emptied, broken_in_the_middle])
async def test_a_compile_heals(weather: Any, harm: Any) -> None:
    """A compile makes a catalog that is broken anew, whatever has not changed; nothing needs to be deleted by hand."""
    async with weather.gateway(CONFIG) as gate:
        file = gate.state / "catalog.db"
        await gate.ready()
    harm(file)
    async with weather.gateway(CONFIG, compile=False) as gate:
        assert (await gate.compile())["weather"].functions == 8
        assert not gate.servers.broken
        assert (await gate.execute(CALL)).value == HIGH


@pytest.mark.slow
async def test_a_catalog_on_a_full_disk(weather: Any, small_disk: Any) -> None:
    """What cannot be stored is blamed on the disk, not on the source; what was compiled before is served."""
    state = small_disk.folder / "state"
    async with weather.gateway(f'state = "{state}"\n{CONFIG}') as gate:
        await gate.ready()
    with small_disk.full():
        async with weather.gateway(f'state = "{state}"\n{CONFIG}', compile=False) as gate:
            await gate.compile(force=True)
            assert "disk is full" in str(gate.servers.outdated["weather"])
            assert not gate.servers.broken
            assert (await gate.execute(CALL)).value == HIGH
    async with weather.gateway(f'state = "{state}"\n{CONFIG}', compile=False) as gate:
        await gate.compile(force=True)
        assert not gate.servers.outdated


@pytest.mark.slow
async def test_a_disk_that_is_full_at_the_start(weather: Any, small_disk: Any) -> None:
    """Programs that need no function run even if no catalog can be made."""
    (small_disk.folder / "state").mkdir(mode=0o700)
    with small_disk.full():
        async with weather.gateway(f'state = "{small_disk.folder}/state"\n{CONFIG}') as gate:
            assert (await gate.execute("1 + 1")).value == 2
            assert "disk is full" in str(gate.servers.broken["weather"])


async def test_writers_make_no_file_in_passing(tmp_path: Path) -> None:
    """What is derived anew is not written into an empty file where a catalog was removed."""
    path = tmp_path / "state/catalog.db"
    SqliteCatalog(path).made().close()
    catalog = Catalog(SqliteCatalog(path))
    path.unlink()
    with pytest.raises(StateError):
        catalog.replace_derived("s", "graph", b"")
    assert not path.exists()
    catalog.store("s", Compiled([Function("s", "f", "f")]), fingerprint="f", settings="c", ms=1)
    assert catalog.lost
    assert catalog.turn_to(catalog.there(), ["s"])
    assert catalog.names("s") == ("f",)
    catalog.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    """Where standard error is a file on a full disk, events are lost, and nothing else: an event is no reason to
    fail."""
    code = "from doorward import log\nfor _ in range(3):\n    log.warning('x' * 10000)\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}print('done')"], stderr=full, stdout=subprocess.PIPE, text=True, check=False
        )
    assert done.stdout == "done\n"
