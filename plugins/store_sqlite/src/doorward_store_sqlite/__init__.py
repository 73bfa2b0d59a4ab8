"""What Doorward remembers, in one SQLite file that processes of one machine share.

One thread writes and one reads, each with its own connection: readers never wait for a writer, and the event loop for
neither. The file has a write-ahead log. A commit has survived a kill of the process when it returns, and with `sync` a
power cut, too. A file that is broken is put aside, and a new one is begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from doorward import ConfigError, Settings, StateError
from doorward.engines import Blob, Change, Lease, Named, Notify, Record, StaleLease, require_once
from doorward.files import sync_names
from pydantic import Field

from doorward_store_sqlite import statements
from doorward_store_sqlite.sqlite_file import SqliteFile
from doorward_store_sqlite.tables import LAYOUT

if TYPE_CHECKING:
    from doorward import PluginContext

T = TypeVar("T")

PLUGIN_API = 1

WAIT_SECONDS = 5.0
"""How long to wait for another process that is writing."""

POLL_SECONDS = 0.2
"""How often to look whether another process has notified a topic."""

SWEEP_SECONDS = 60.0
"""How often what has expired is removed, where anything is written."""


class SqliteSettings(Settings):
    """`[stores.sqlite]`"""

    path: Path | None = Field(None, description="The file; store.db in the state folder if not given")
    sync: bool = Field(False, description="Have each write survive a power cut, and not only the end of a process")


class SqliteStore:
    """A `doorward.engines.Store`."""

    Settings = SqliteSettings
    lasts = True
    distributed = False

    def __init__(self, context: PluginContext[SqliteSettings], *, clock: Callable[[], float] = time.time) -> None:
        self._path = context.folder / (context.settings.path or context.state / "store.db").expanduser()
        self._chosen = context.settings.path is not None
        hint = "What was stored begins anew. The file that was put aside may still hold some of it."
        self._file = SqliteFile(self._path, LAYOUT, event="store_put_aside", hint=hint)
        self._clock = clock
        sync = "FULL" if context.settings.sync else "NORMAL"
        self._writer, self._reader = _Connection(self._file, sync), _Connection(self._file, sync)
        self._woken: dict[str, asyncio.Event] = {}
        self._swept: float | None = None

    async def commit(self, *changes: Change, fences: Sequence[Lease] = (), sync: bool = False) -> int:
        require_once(changes)
        if not changes and not fences:
            return await self._writer.run(self._forget_expired)

        def commit(db: sqlite3.Connection) -> int:
            now = self._clock()
            for lease in fences:
                _require_held(db, lease)
            version = statements.next_version(db)
            self._sweep(db, now)
            for change in changes:
                statements.make(db, change, version, now)
            return version

        version = await self._write(commit, sync=sync)
        for change in changes:
            if isinstance(change, Notify):
                self._woken.pop(change.topic, asyncio.Event()).set()
        return version

    async def get(self, table: str, key: str) -> Record | None:
        return await self._read(lambda db: statements.record(db, table, key, self._clock()), None)

    async def scan(
        self, table: str, prefix: str = "", *, after: str | None = None, limit: int = 1000
    ) -> Sequence[Record]:
        return await self._read(lambda db: statements.scan(db, table, prefix, after, limit, self._clock()), [])

    async def end(self, log: str) -> int:
        return await self._read(lambda db: statements.end(db, log), 0)

    async def read(self, log: str, start: int = 0, *, limit: int = 1000) -> Sequence[bytes]:
        return await self._read(lambda db: statements.read(db, log, start, limit), [])

    async def blob(self, name: str, start: int = 0, size: int | None = None) -> Blob | None:
        return await self._read(lambda db: statements.blob(db, name, start, size, self._clock()), None)

    async def names(self, what: Named, *, after: str | None = None, limit: int = 1000) -> Sequence[str]:
        return await self._read(lambda db: statements.names(db, what, after, limit, self._clock()), [])

    async def acquire(self, name: str, seconds: float) -> Lease | None:
        def acquire(db: sqlite3.Connection) -> Lease | None:
            now = self._clock()
            if (held := statements.lease(db, name)) is not None and held[1] > now:
                return None
            token = statements.next_version(db)
            statements.set_lease(db, name, token, now + seconds)
            return Lease(name, token)

        return await self._write(acquire)

    async def renew(self, lease: Lease, seconds: float) -> None:
        def renew(db: sqlite3.Connection) -> None:
            _require_held(db, lease)
            statements.set_lease(db, lease.name, lease.token, self._clock() + seconds)

        await self._write(renew)

    async def release(self, lease: Lease) -> None:
        await self._write(lambda db: statements.drop_lease(db, lease))

    async def signal(self, topic: str, seen: int = -1, timeout: float = 0.0) -> int:
        end = time.monotonic() + timeout
        while True:
            woken = self._woken.setdefault(topic, asyncio.Event()) if timeout > 0 else asyncio.Event()
            number = await self._read(lambda db: statements.topic(db, topic), 0)
            left = end - time.monotonic()
            if number > seen or left <= 0:
                return number
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, POLL_SECONDS)):
                    await woken.wait()

    async def layout(self) -> tuple[int, int]:
        """See `doorward.abilities.TellsLayout`."""

        def read() -> tuple[int, int]:
            with self._errors(self._reader):
                self._refuse_other()
                return self._file.layout()

        return await self._reader.run(read)

    async def close(self) -> None:
        await asyncio.gather(self._writer.end(), self._reader.end())

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, sync: bool = False) -> T:
        def write() -> T:
            with self._errors(self._writer):
                db = self._writer.made(self._refuse_other)
                with self._writer.synced() if sync else contextlib.nullcontext(), _transaction(db, "IMMEDIATE"):
                    return work(db)

        return await self._writer.run(write)

    async def _read(self, work: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        """What `work` reads; `nothing` if there is no file yet: to read makes none."""

        def read() -> T:
            with self._errors(self._reader):
                if (found := self._reader.found(self._refuse_other)) is None:
                    return nothing
                with _transaction(found, "DEFERRED") as db:
                    return work(db)

        return await self._reader.run(read)

    @contextlib.contextmanager
    def _errors(self, connection: _Connection) -> Iterator[None]:
        try:
            with self._file.errors(connection.close):
                yield
        except ConfigError as error:  # the file is not ours, or another process is making it
            raise StateError(error.message, hint=error.hint) from None

    def _refuse_other(self) -> None:
        """Refuse a path that somebody has given and that is no SQLite file. Raises: ConfigError."""
        if self._chosen and self._file.is_other():
            hint = "Move it away, or configure another path."
            raise ConfigError("is no SQLite file, so it is not touched", place=str(self._path), hint=hint)

    def _forget_expired(self) -> int:
        """Remove what has expired from the file and its log, if there is a file. Returns: how much that was."""
        with self._errors(self._writer):
            if (db := self._writer.found(self._refuse_other)) is None:
                return 0
            before = db.total_changes
            with _transaction(db, "IMMEDIATE"):
                statements.sweep(db, self._clock())
            if found := db.total_changes - before:
                self._writer.shorten_log()
            return found

    def _sweep(self, db: sqlite3.Connection, now: float) -> None:
        if self._swept is None or time.monotonic() > self._swept + SWEEP_SECONDS:
            statements.sweep(db, now)
            self._swept = time.monotonic()


class _Connection:
    """A connection, and the one thread that uses it. It is opened when first needed, and again if the file is another
    meanwhile."""

    def __init__(self, file: SqliteFile, sync: str) -> None:
        self._file, self._sync = file, sync
        self._thread = ThreadPoolExecutor(1, "doorward-store")
        self._db: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        self._synced: tuple[int, int] | None = None

    async def run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def made(self, check: Callable[[], None]) -> sqlite3.Connection:
        if (db := self._current()) is None:
            check()
            db = self._opened(self._file.opened(WAIT_SECONDS))
        return db

    def found(self, check: Callable[[], None]) -> sqlite3.Connection | None:
        if (db := self._current()) is None:
            check()
            if (db := self._file.found(WAIT_SECONDS)) is not None:
                self._opened(db)
        return db

    def _current(self) -> sqlite3.Connection | None:
        if self._db is not None and self._place != self._file.place():
            self.close()
        return self._db

    def _opened(self, db: sqlite3.Connection) -> sqlite3.Connection:
        self._db, self._place = db, self._file.place()
        db.execute(f"PRAGMA synchronous = {self._sync}")
        db.execute("PRAGMA secure_delete = ON")  # what is deleted is forgotten
        return db

    @contextlib.contextmanager
    def synced(self) -> Iterator[None]:
        """What is committed within is on the disk afterwards, and so are the names of its files."""
        assert self._db is not None
        self._db.execute("PRAGMA synchronous = FULL")
        try:
            yield
            if self._synced != self._place:
                sync_names(self._file.path.parent)
                self._synced = self._place
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute(f"PRAGMA synchronous = {self._sync}")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    async def end(self) -> None:
        await self.run(self._end)
        self._thread.shutdown(wait=False)

    def _end(self) -> None:
        if self._db is not None and self._db.total_changes:
            self.shorten_log()
        self.close()

    def shorten_log(self) -> None:
        """Move the log into the file, unless somebody reads it: it has what was deleted, too."""
        assert self._db is not None
        with contextlib.suppress(sqlite3.Error):
            (wait,) = self._db.execute("PRAGMA busy_timeout").fetchone()
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute(f"PRAGMA busy_timeout = {wait}")


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection, kind: str) -> Iterator[sqlite3.Connection]:
    """A transaction, which is nothing if the block fails."""
    db.execute(f"BEGIN {kind}")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise


def _require_held(db: sqlite3.Connection, lease: Lease) -> None:
    held = statements.lease(db, lease.name)
    if held is None or held[0] != lease.token:
        raise StaleLease(f"the lease {lease.name!r} is lost", hint="Another process goes on with its work.")
