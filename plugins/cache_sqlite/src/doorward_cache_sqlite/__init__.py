"""The programs of `run_cached_code` in one SQLite file, which many processes may share.

A program is kept for `ttl` seconds after it was last put or got; above `max_entries` the one unused for longest goes,
first. The file is a cache: one that is broken, or of another program, is moved aside and begun anew.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from doorward import CachedProgram, ConfigError, Settings
from pydantic import Field, PositiveFloat, PositiveInt

from doorward_cache_sqlite.rows import program_of, text_of

if TYPE_CHECKING:
    from doorward import PluginContext

T = TypeVar("T")

PLUGIN_API = 1

APPLICATION = 0x446F6F72
"""SQLite's `application_id` of our files: "Door" in ASCII."""

VERSION = 1
"""SQLite's `user_version`: the tables below, and what `rows.text_of` writes. A file of another version is begun anew."""

TABLES = """
CREATE TABLE programs (
    principal TEXT NOT NULL,
    cache_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    used REAL NOT NULL, -- seconds since the epoch: the last put or get
    program TEXT NOT NULL, -- JSON
    PRIMARY KEY (principal, cache_id),
    UNIQUE (principal, digest)
);
CREATE INDEX programs_used ON programs (used);
"""

BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a file."""

WAIT = 2.0
"""Seconds to wait for another process that is writing."""


AGAIN = 0.02
"""Seconds between two tries."""


class SqliteSettings(Settings):
    """`[caches.sqlite]`"""

    path: Path | None = Field(None, description="The file; programs.db in the state folder if not given")
    ttl: PositiveFloat = Field(3600.0, description="Seconds a program is kept after it was last put or got")
    max_entries: PositiveInt = Field(500, description="Programs kept, of all principals together")


class SqliteCache:
    """A `doorward.Cache`. Each statement runs in a worker thread: a slow disk or a busy file never stops the loop."""

    Settings = SqliteSettings

    def __init__(self, context: PluginContext[SqliteSettings], *, clock: Callable[[], float] = time.time) -> None:
        self._settings = context.settings
        self._path = (context.settings.path or context.state / "programs.db").expanduser()
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    async def put(self, program: CachedProgram) -> str:
        return await self._in_thread(lambda db: self._put(db, program))

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        return await self._in_thread(lambda db: self._get(db, cache_id, principal))

    async def close(self) -> None:
        from anyio import to_thread

        await to_thread.run_sync(self._close)

    def _close(self) -> None:
        with self._lock:  # nobody holds it for long
            self._disconnect()

    def _put(self, db: sqlite3.Connection, program: CachedProgram) -> str:
        """Expired programs go first, so that none of their ids comes to life again. This one stays, whatever the clock does."""
        now, this = self._clock(), (program.principal, program.digest)
        with _transaction(db):
            db.execute("DELETE FROM programs WHERE used <= ?", (now - self._settings.ttl,))
            db.execute(
                "INSERT INTO programs (principal, cache_id, digest, used, program) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (principal, digest) DO UPDATE SET used = excluded.used, program = excluded.program",
                (program.principal, program.cache_id, program.digest, now, text_of(program)),
            )
            db.execute(
                "DELETE FROM programs WHERE rowid IN (SELECT id FROM (SELECT rowid AS id, used, principal = ? AND digest = ? AS this,"
                " row_number() OVER (PARTITION BY principal ORDER BY used DESC, rowid DESC) AS nth FROM programs)"
                " ORDER BY this DESC, nth, used DESC, id DESC LIMIT -1 OFFSET ?)",
                (*this, self._settings.max_entries),
            )
            # Not RETURNING: the SQLite of some systems that we support is older than that (3.35).
            return str(db.execute("SELECT cache_id FROM programs WHERE principal = ? AND digest = ?", this).fetchone()[0])

    def _get(self, db: sqlite3.Connection, cache_id: str, principal: str) -> CachedProgram | None:
        """Reading waits for nobody who writes; nor does it wait to note the time of use, which is left out then."""
        now = self._clock()
        this = (principal, cache_id, now - self._settings.ttl)
        found = db.execute("SELECT digest, program FROM programs WHERE principal = ? AND cache_id = ? AND used > ?", this).fetchone()
        if found is None:
            return None
        with suppress(sqlite3.OperationalError):
            db.execute("UPDATE programs SET used = ? WHERE principal = ? AND cache_id = ? AND used > ?", (now, *this))
        return program_of(principal, cache_id, *found)

    async def _in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        from anyio import to_thread

        return await to_thread.run_sync(self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` with the open file, as soon as no other process holds it. Who waits for that keeps nobody else from the connection.

        Raises: ConfigError if the file cannot be had, or is still broken.
        """
        end = time.monotonic() + WAIT
        while True:
            try:
                return self._try(work)
            except (sqlite3.Error, OSError, _Foreign, _Held) as error:
                busy = isinstance(error, _Held) or getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > end:
                    hint = "Another process holds it: try again." if busy else None
                    raise ConfigError(f"the program cache cannot be used: {error}", place=str(self._path), hint=hint) from error
            time.sleep(AGAIN)

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Once; and once more with a new file, if it turns out to be broken."""
        with self._lock:
            try:
                return work(self._connect())
            except (sqlite3.DatabaseError, _Foreign) as error:
                if not _broken(error):
                    raise
                self._move_aside(error)
                return work(self._connect())

    def _connect(self) -> sqlite3.Connection:
        """The connection, opened when first needed, and anew when another file is at its place."""
        if self._connection is not None and _place(self._path) != self._file:
            self._disconnect()
        if self._connection is None:
            self._connection = _open(self._path)
            try:
                _prepare(self._connection)
            except BaseException:
                self._disconnect()
                raise
            self._file = _place(self._path)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _move_aside(self, why: Exception) -> None:
        """Rename the file to `<name>.broken-<time>`, unless another process has done so already. What belongs to it
        goes first: SQLite would take an old log for one of the new file.
        """
        from doorward import log

        self._disconnect()
        if _is_sound(self._path):
            return
        aside = self._path.with_name(f"{self._path.name}.broken-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(self._clock()))}")
        for suffix in (*BESIDE, ""):
            file = Path(f"{self._path}{suffix}")
            if file.exists():
                os.replace(file, f"{aside}{suffix}")
        log.warning("cache_begun_anew", path=str(self._path), moved_to=str(aside), why=str(why))


class _Held(Exception):
    """The file cannot be opened just now."""


class _Foreign(Exception):
    """A sound SQLite file that is not ours."""


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """`BEGIN IMMEDIATE` … `COMMIT`: waits for other writers at its start, never in its middle."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _open(path: Path) -> sqlite3.Connection:
    """A connection to the file, which only this user can read, from its first moment on. For one thread at a time; it never waits.

    Raises: ConfigError if it is not ours, _Held.
    """
    from doorward import alone, check_own, own_folder

    own_folder(path.parent)
    with ExitStack() as stack:
        try:
            stack.enter_context(alone(path, 0))
        except ConfigError:
            raise _Held("another process changes files in its folder") from None
        beside = [Path(f"{path}{suffix}") for suffix in BESIDE]
        if not check_own(path):
            for left in beside:  # SQLite would take an old log for one of the new file
                left.unlink(missing_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        for each in beside:
            check_own(each)
    path.chmod(0o600)  # not opened: to close a second descriptor would drop the locks of a connection in this process
    return sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)


def _prepare(db: sqlite3.Connection) -> None:
    """Make the tables in a new file; check that an old one is ours.

    A write-ahead log survives a kill at any time, and a loss of power too (which may cost the last programs).

    Raises: _Foreign.
    """
    if _ours(db) != (APPLICATION, VERSION):
        with _transaction(db):
            ours = _ours(db)
            if ours == (0, 0) and db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                for statement in (*TABLES.split(";"), f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}"):
                    db.execute(statement)
            elif ours != (APPLICATION, VERSION):
                raise _Foreign(f"it is a database of application {ours[0]:#x}, version {ours[1]}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")


def _ours(db: sqlite3.Connection) -> tuple[int, int]:
    return db.execute("PRAGMA application_id").fetchone()[0], db.execute("PRAGMA user_version").fetchone()[0]


def _broken(error: Exception) -> bool:
    """Whether the file itself is bad; otherwise it is locked, read-only, or the disk is full."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, _Foreign) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "no such table" in str(error)


def _place(path: Path) -> tuple[int, int] | None:
    """Which file is there; `None` if there is none, or one of which all was taken away."""
    with suppress(OSError):
        found = path.stat()
        return (found.st_dev, found.st_ino) if found.st_size else None
    return None


def _is_sound(path: Path) -> bool:
    """Whether the file that lies there now is one of ours, and whole."""
    db = _open(path)
    try:
        _prepare(db)
        return bool(db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    except (sqlite3.DatabaseError, _Foreign) as error:
        if _broken(error):
            return False
        raise
    finally:
        db.close()
