"""SQLite files of ours: made, brought to the present layout, put aside."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from doorward import ConfigError
from doorward_store_sqlite.sqlite_file import SqliteFile
from doorward_store_sqlite.sqlite_layout import SqliteLayout


def one(db: Any) -> None:
    db.table("things").create({"id": int, "name": str}, pk="id")


def two(db: Any) -> None:
    db.table("things").add_column("size", int, not_null_default=1)


def failing(db: Any) -> None:
    db.table("things").add_column("colour", str)
    raise ZeroDivisionError


FIRST = SqliteLayout((one,), "SELECT count(*) FROM things", application=7)
SECOND = replace(FIRST, steps=(one, two))


def at(folder: Path, layout: SqliteLayout = FIRST) -> SqliteFile:
    return SqliteFile(folder / "things.db", layout, event="put_aside", hint="Nothing to do.")


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_layout_is_brought_to_the_present_one(tmp_path: Path) -> None:
    """What is in it stays; nobody else notices; a new file has all steps taken."""
    with contextlib.closing(at(tmp_path).opened(1)) as db:
        db.execute("INSERT INTO things (name) VALUES ('a')")
    with contextlib.closing(at(tmp_path).opened(1)) as old, contextlib.closing(at(tmp_path, SECOND).opened(1)) as new:
        assert new.execute("SELECT name, size FROM things").fetchall() == [("a", 1)]
        assert (version(new), new.execute("PRAGMA application_id").fetchone()) == (2, (7,))
        assert old.execute("SELECT name FROM things").fetchall() == [("a",)]
    (tmp_path / "things.db").unlink()
    with contextlib.closing(at(tmp_path, SECOND).opened(1)) as db:
        assert db.execute("SELECT name, size FROM things").fetchall() == []


def test_a_step_that_fails_leaves_the_file(tmp_path: Path) -> None:
    """All steps are taken or none."""
    at(tmp_path).opened(1).close()
    before = (tmp_path / "things.db").stat().st_ino
    with pytest.raises(ZeroDivisionError):
        at(tmp_path, replace(FIRST, steps=(one, two, failing))).opened(1)
    with contextlib.closing(at(tmp_path).opened(1)) as db:
        assert [name for _, name, *_ in db.execute("PRAGMA table_info(things)")] == ["id", "name"]
    assert (tmp_path / "things.db").stat().st_ino == before
    assert [file.name for file in tmp_path.iterdir()] == ["things.db"]


@pytest.mark.parametrize(
    "other", [replace(FIRST, application=8), replace(FIRST, first=5), SECOND], ids=["program", "older", "newer"]
)
def test_another_layout_is_put_aside_whole(tmp_path: Path, other: SqliteLayout) -> None:
    """Of another program, or of another version of ours: with what is still in its log."""
    there = at(tmp_path, other).opened(1)
    there.execute("INSERT INTO things (name) VALUES ('a')")
    with structlog.testing.capture_logs() as logs, contextlib.closing(at(tmp_path).opened(1)) as db:
        assert db.execute("SELECT * FROM things").fetchall() == []
    assert [(e["event"], e["why"]) for e in logs] == [("put_aside", "it has another layout")]
    there.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "things.db.broken")) as db:
        assert db.execute("SELECT name FROM things").fetchall() == [("a",)]


def test_a_newer_file_that_cannot_be_made_again_is_refused(tmp_path: Path) -> None:
    """It is left as it is; both versions are told without a change, that of an older file, too."""
    ours, theirs = replace(FIRST, irreplaceable=True), replace(SECOND, irreplaceable=True)
    assert at(tmp_path, ours).layout() == (0, 1)
    at(tmp_path, ours).opened(1).close()
    assert (at(tmp_path, ours).layout(), at(tmp_path, theirs).layout()) == ((1, 1), (1, 2))
    at(tmp_path, theirs).opened(1).close()
    before = (tmp_path / "things.db").read_bytes()
    for use in (at(tmp_path, ours).layout, lambda: at(tmp_path, ours).opened(1)):
        with pytest.raises(ConfigError, match="of version 2, which needs a newer Doorward"):
            use()
    assert (tmp_path / "things.db").read_bytes() == before


CHANGE = """
import sys
from pathlib import Path
from doorward_store_sqlite.sqlite_file import SqliteFile
from doorward_store_sqlite.sqlite_layout import SqliteLayout
steps = (lambda db: db.table("things").create({"id": int}, pk="id"), lambda db: db.table("things").insert({"id": 1}))
sys.stdin.readline()
file = SqliteFile(Path(sys.argv[1]), SqliteLayout(steps[: int(sys.argv[2])], "SELECT 1 FROM things"), event="e", hint="h")
print(file.opened(10).execute("SELECT count(*) FROM things").fetchone()[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_processes_change_it_once(tmp_path: Path, there: bool) -> None:
    """Those that start together take each step once."""

    def start(steps: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", CHANGE, str(tmp_path / "things.db"), str(steps)]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    if there:
        assert start(1).communicate("go\n")[0] == "0\n"
    started = [start(2) for _ in range(3)]
    for each in started:
        assert each.stdin
        each.stdin.write("go\n")
        each.stdin.flush()
    assert [each.communicate()[0] for each in started] == ["1\n"] * 3


def test_plugins_of_sqlite_utils_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has configured them, and this process holds the keys."""
    from sqlite_utils import plugins

    monkeypatch.setattr(
        plugins.pm, "load_setuptools_entrypoints", lambda *args, **options: pytest.fail("they are loaded")
    )
    at(tmp_path).opened(1).close()


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-journal"])
def test_no_link_is_followed(tmp_path: Path, beside: str) -> None:
    """In its place or beside it; neither to read it nor to make it."""
    (tmp_path / "victim").write_bytes(b"")
    (tmp_path / f"things.db{beside}").symlink_to(tmp_path / "victim")
    for work in (lambda: at(tmp_path).opened(1), lambda: at(tmp_path).check(1), at(tmp_path).as_it_was):
        with pytest.raises(ConfigError, match="is a link"):
            work()
    assert (tmp_path / "victim").read_bytes() == b""
