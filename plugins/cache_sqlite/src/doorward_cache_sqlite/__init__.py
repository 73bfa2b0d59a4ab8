"""The programs of `run_cached_code` in one SQLite file, which many processes may share.

A program is kept for `ttl` seconds after it was last put or got; if there are more than `max_entries`, those unused for
longest are deleted. The file is only a cache: if it is broken, or not ours, it is moved aside and a new one is begun.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from doorward import ConfigError, Settings
from doorward.files import SqliteFile
from doorward.sandboxing import CachedProgram
from pydantic import Field, PositiveFloat, PositiveInt

from doorward_cache_sqlite.programs import COLUMNS, LAYOUT, program_of, row_of

if TYPE_CHECKING:
    from doorward import PluginContext

T = TypeVar("T")

PLUGIN_API = 1

BUSY_WAIT_SECONDS = 2.0
"""How long to wait for another process that is writing."""

CLOSE_WAIT_SECONDS = 1.0
"""How long the end waits for programs that are being written, if another process holds the file."""

BATCH_SECONDS = 0.02
"""The pause after programs were written; those that are put meanwhile are written together."""

MAX_BATCH = 200
"""Programs that are written together."""

RETRY_SECONDS = 0.02
"""The pause between two attempts."""

_REPLACED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "cache_id")
_PUT = f"INSERT INTO programs ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{name}' for name in COLUMNS)})"  # noqa: S608
_PUT += f" ON CONFLICT (principal, digest) DO UPDATE SET {_REPLACED}"
_GET = f"SELECT {', '.join(COLUMNS)} FROM programs WHERE principal = ? AND cache_id = ? AND used > ?"  # noqa: S608


_Put = tuple[CachedProgram, float]
"""A program, and the time at which it was put, which is not that at which it is written."""


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
        self._file = SqliteFile(
            self._path, LAYOUT, event="cache_begun_anew", hint="Programs that were kept are gone.", aside=self._aside
        )
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        self._waiting: list[tuple[_Put, asyncio.Future[str]]] = []
        self._writer: asyncio.Future[None] | None = None
        self._closing = asyncio.Event()

    async def put(self, program: CachedProgram) -> str:
        kept: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append(((program, self._clock()), kept))  # what is got meanwhile was used later
        if self._writer is None or self._writer.done():
            self._writer = asyncio.ensure_future(self._write())
        return await kept

    async def _write(self) -> None:
        """Write what waits, all of it in one transaction, until nothing does."""
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            ids = await self._written([put for put, _ in batch])
            for (_, kept), found in zip(batch, ids, strict=True):
                if kept.done():  # whoever put it does not wait any more
                    continue
                kept.set_exception(found) if isinstance(found, Exception) else kept.set_result(found)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), BATCH_SECONDS)

    async def _written(self, puts: Sequence[_Put]) -> Sequence[str | Exception]:
        """The ids of programs that are written, or why they are not."""
        try:
            return await self._in_thread(partial(self._put, puts=puts))
        except ConfigError as error:  # the file cannot be used
            return [error] * len(puts)
        except Exception as error:  # one of them cannot be written; that must not cost another principal theirs
            return [error] if len(puts) == 1 else [(await self._written([each]))[0] for each in puts]

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        return await self._in_thread(lambda db: self._get(db, cache_id, principal))

    async def close(self) -> None:
        from anyio import to_thread

        self._closing.set()
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=CLOSE_WAIT_SECONDS)
        await to_thread.run_sync(self._close)

    def _close(self) -> None:
        with self._lock:  # nobody holds it for long
            self._disconnect()

    def _put(self, db: sqlite3.Connection, puts: Sequence[_Put]) -> list[str]:
        """Store programs. Expired ones are deleted first, so that none of their ids becomes valid again. The new ones
        stay, whatever the clock does."""
        now, most = self._clock(), self._settings.max_entries
        last = {(program.principal, program.digest): (program, used) for program, used in puts}
        with _transaction(db):
            db.execute("DELETE FROM programs WHERE used <= ?", (now - self._settings.ttl,))
            db.executemany(_PUT, [row_of(*put) for put in last.values()])
            if db.execute("SELECT count(*) FROM programs").fetchone()[0] > most:
                db.execute(
                    "DELETE FROM programs WHERE rowid IN (SELECT id FROM (SELECT rowid AS id, used, "  # noqa: S608
                    f"(principal, digest) IN (VALUES {', '.join(['(?, ?)'] * len(last))}) AS this,"
                    " row_number() OVER (PARTITION BY principal ORDER BY used DESC, rowid DESC) AS nth FROM programs)"
                    " ORDER BY this DESC, nth, used DESC, id DESC LIMIT -1 OFFSET ?)",
                    (*(part for this in last for part in this), most),
                )
            # Not RETURNING, which needs SQLite 3.35: some systems that we support have an older one.
            ids = {
                this: db.execute("SELECT cache_id FROM programs WHERE principal = ? AND digest = ?", this).fetchone()
                for this in last
            }
        kept = {this: str(row[0]) if row else last[this][0].cache_id for this, row in ids.items()}
        return [kept[program.principal, program.digest] for program, _ in puts]

    def _get(self, db: sqlite3.Connection, cache_id: str, principal: str) -> CachedProgram | None:
        """Read a program. Reading does not wait for writers; if the file is busy, the time of use is not updated."""
        now = self._clock()
        this = (principal, cache_id, now - self._settings.ttl)
        found = db.execute(_GET, this).fetchone()
        if found is None:
            return None
        with suppress(sqlite3.OperationalError):
            db.execute("UPDATE programs SET used = ? WHERE principal = ? AND cache_id = ? AND used > ?", (now, *this))
        return program_of(dict(zip(COLUMNS, found, strict=True)))

    async def _in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        from anyio import to_thread

        return await to_thread.run_sync(self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` with the open file, as soon as no other process has it locked. Waiting does not block other threads
        from using the connection.

        Raises: ConfigError if the file cannot be used, or is still broken.
        """
        end = time.monotonic() + BUSY_WAIT_SECONDS
        while True:
            try:
                return self._try(work)
            except (sqlite3.Error, OSError, ConfigError) as error:
                busy = self._file.is_busy(error)
                if isinstance(error, ConfigError) and not busy:
                    raise
                if not busy or time.monotonic() > end:
                    hint = "Another process holds it: try again." if busy else None
                    raise ConfigError(
                        f"the program cache cannot be used: {error}", place=str(self._path), hint=hint
                    ) from error
            time.sleep(RETRY_SECONDS)

    def _try(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work once, and once more with a new file if this one turns out to be broken."""
        with self._lock:
            try:
                return work(self._connect())
            except sqlite3.DatabaseError as error:
                if not self._file.is_broken(error):
                    raise
                self._disconnect()
                self._file.put_aside(error, self._place, 0)
                return work(self._connect())

    def _connect(self) -> sqlite3.Connection:
        """The connection, opened when first needed, and again if the file has been replaced. It never waits."""
        if self._connection is not None and self._file.place() != self._place:
            self._disconnect()
        if self._connection is None:
            if self._settings.path and self._file.is_other():
                hint = "Move it away, or configure another path."
                raise ConfigError("is no SQLite file, so it is not touched", place=str(self._path), hint=hint)
            self._connection = self._file.opened(0)
            # A write-ahead log survives a kill, and a power loss too, except perhaps for the last programs.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._place = self._file.place()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _aside(self) -> str:
        return f"broken-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(self._clock()))}"


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """`BEGIN IMMEDIATE` … `COMMIT`: waits for other writers at its start, never in between."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
