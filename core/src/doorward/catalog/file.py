"""The SQLite file of the catalog: made, opened, judged when it fails, put aside when it is broken: it can be compiled again.

It has a write-ahead log: nobody who reads waits for who writes. A connection to a file that was removed goes on with what it was.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import quote

from doorward.catalog.search.document import FIELDS
from doorward.host import files
from doorward.host.logs import log
from doorward.model.errors import StateError

VERSION = 4
"""Of the file's layout: another one is built anew."""

_LAYOUT = """
CREATE TABLE servers (name TEXT PRIMARY KEY, report TEXT, words TEXT);
CREATE TABLE compiles (number INTEGER);
INSERT INTO compiles VALUES (0);
CREATE TABLE observed (server TEXT, name TEXT, digest TEXT, shape TEXT, times INTEGER, last REAL, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE definitions (server TEXT, name TEXT, schema TEXT, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE functions (id INTEGER PRIMARY KEY, server TEXT, name TEXT, original TEXT, read_only INTEGER, record TEXT);
CREATE UNIQUE INDEX functions_by_name ON functions (server, name);
CREATE INDEX functions_by_original ON functions (original, server);
CREATE INDEX functions_called ON functions (name);
CREATE VIRTUAL TABLE search USING fts5 ({fields}, tokenize = "unicode61 tokenchars '_'");
INSERT INTO search (search, rank) VALUES ('rank', 'bm25(0, 0, 5, 3, 3, 2, 2, 1, 1)');
PRAGMA user_version = {version};
"""

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a file. An old one would be taken for that of a new file."""

LEAST_ROOM = 2**17
"""Bytes of a disk below which it is called full."""

_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def opened(path: Path, wait: float) -> sqlite3.Connection:
    """A connection to the catalog that waits so many seconds for its turn. One that is missing, broken or of another layout is made anew.

    Raises: StateError if it cannot be had now; ConfigError if it is not ours.
    """
    try:
        for _ in range(3):
            if not present(path):
                _create(path, wait)
            which = place(path)
            db = connect(path, wait)
            try:
                if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                    db.execute("SELECT number FROM compiles").fetchone()
                    with contextlib.suppress(sqlite3.OperationalError):  # an older one that is in use: the next time
                        db.execute("PRAGMA journal_mode = WAL")
                    return db
                why: object = "it has another layout"
            except sqlite3.Error as error:
                if not is_broken(error):
                    db.close()
                    raise
                why = error
            db.close()
            put_aside(path, why, which)
    except (sqlite3.Error, OSError) as error:
        raise said(path, error) from None
    raise StateError(f"{path}: cannot be made a catalog", hint="Is another program using that file?")


def meanwhile(path: Path) -> sqlite3.Connection:
    """For as long as the file cannot be had: what it was, without what is in its log; an empty one in memory if that cannot be read."""
    try:
        if present(path):
            db = sqlite3.connect(f"file:{quote(str(path))}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
            if db.execute("PRAGMA user_version").fetchone()[0] == VERSION and db.execute("SELECT number FROM compiles").fetchone():
                return db
            db.close()
    except (sqlite3.Error, OSError):
        pass
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.executescript(_LAYOUT.format(fields=", ".join(FIELDS), version=VERSION))
    return db


def check(path: Path, wait: float) -> None:
    """Look whether all of the file can be read; put it aside if it is broken. Raises: StateError, ConfigError."""
    try:
        if not present(path):
            return
        which = place(path)
        with contextlib.closing(connect(path, wait)) as db:
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, OSError) or not is_broken(error):
            raise said(path, error) from None
        found = error
    if found != "ok":
        put_aside(path, found, which)


def place(path: Path) -> tuple[int, int] | None:
    """Which file is there now; `None` if there is none, or one of which all was taken away."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size else None


def written(path: Path) -> int:
    """When the file itself was written to."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def present(path: Path) -> bool:
    """Whether there is a catalog, in a folder that is ours. Raises: ConfigError if it is not ours; OSError."""
    files.own_folder(path.parent)
    for file in _beside(path):
        files.check_own(file)
    return files.check_own(path)


def put_aside(path: Path, why: object, which: tuple[int, int] | None) -> None:
    """Rename a catalog that is of no use to `NAME.broken`, if it is still that one, and say so. Raises: ConfigError, OSError."""
    with files.alone(path):
        if place(path) != which:  # another process has made it anew
            return
        remove(path, instead=path.with_name(f"{path.name}.broken"))
    log.warning("catalog_put_aside", path=str(path), why=str(why), hint="It is compiled again.")


def remove(path: Path, instead: Path | None = None) -> list[Path]:
    """Remove the catalog and what belongs to it, or rename it. Returns: what was there. Raises: OSError."""
    found = [file for file in (path, *_beside(path)) if file.exists()]
    for file in found:
        if instead and file == path:
            file.replace(instead)
        else:
            file.unlink(missing_ok=True)
    return found


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the file itself is bad; otherwise it is locked, or cannot be written, or the disk is full."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return "decode" in str(error)  # a text that is none
    return code & 0xFF in _CODES or "no such table" in str(error) or "no such column" in str(error)


def said(path: Path, error: Exception) -> StateError:
    """What is wrong with a file that cannot be used now."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StateError(f"{path}: another process holds it locked", hint="Try again. If it stays so, find that process.")
    if code == sqlite3.SQLITE_FULL or _full(path):  # to read needs a little room, too
        return StateError(f"{path}: the disk is full", hint="Make room where the state folder is, or set DOORWARD_STATE_DIR.")
    return StateError(f"{path}: cannot be used: {error}", hint="Check the state folder and its disk.")


def _full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < LEAST_ROOM
    except OSError:
        return False


def _beside(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{end}") for end in _BESIDE]


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """To a file that is there: none is made by opening it."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=wait, isolation_level=None, check_same_thread=False)


def _create(path: Path, wait: float) -> None:
    """Make an empty catalog beside its place, and put it there whole: processes that start together share one."""
    with files.alone(path, wait + 1):
        if path.exists():
            return
        remove(path)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        try:
            os.close(files.own_file(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
                db.execute("PRAGMA journal_mode = WAL")
                db.executescript(_LAYOUT.format(fields=", ".join(FIELDS), version=VERSION))
            new.rename(path)
        finally:
            for left in (new, *_beside(new)):
                left.unlink(missing_ok=True)
