"""A SQLite file of Doorward: made whole or not at all, brought to its present layout, put aside when it is broken.

It has a write-ahead log, so readers do not wait for writers. A connection to a file that was removed goes on with the
old content.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from doorward import ConfigError, StateError, log
from doorward.files import alone, check_own, own_file, own_folder

from doorward_store_sqlite.sqlite_layout import NewerFile, SqliteLayout

MIN_FREE_BYTES = 2**17
"""Free bytes of a disk below which it counts as full."""

_COMPANION_SUFFIXES = ("-wal", "-shm", "-journal")
"""The files that SQLite puts beside a file. An old one would be taken for a part of a new file."""

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class FileHeld(ConfigError):
    """Another process is making or removing files in the folder. To try again helps."""


class SqliteFile:
    """A file of one layout at a path. A file that is of no use is renamed to `NAME.ASIDE`, and the log says `event`."""

    def __init__(
        self, path: Path, layout: SqliteLayout, *, event: str, hint: str, aside: Callable[[], str] = lambda: "broken"
    ) -> None:
        self.path = path
        self._layout = layout
        self._event, self._hint, self._aside = event, hint, aside

    def opened(self, wait: float) -> sqlite3.Connection:
        """A connection that waits up to `wait` seconds for its turn. A file that is missing, broken or of another
        layout is made anew.

        Raises: sqlite3.Error and OSError, see `said`; FileHeld; ConfigError if the file is not ours.
        """
        for _ in range(3):
            if db := self.found(wait):
                return db
            self._make(wait)
        raise sqlite3.OperationalError("it is changed by another program all the time")

    def found(self, wait: float) -> sqlite3.Connection | None:
        """The same for a file that exists. One that is of no use is put aside, and no new one is made."""
        if not self.present():
            return None
        which = self.place()
        db = self.connect(wait)
        try:
            if self._layout.update(db):
                with contextlib.suppress(sqlite3.OperationalError):  # an older file that is in use: try the next time
                    db.execute("PRAGMA journal_mode = WAL")
                return db
            why: object = "it has another layout"
        except sqlite3.Error as error:
            if not self.is_broken(error):
                db.close()
                raise
            why = error
        except NewerFile as error:
            db.close()
            raise self._newer(error) from None
        except BaseException:
            db.close()
            raise
        db.close()
        self.put_aside(why, which, wait)
        return None

    def layout(self) -> tuple[int, int]:
        """The version of the tables that are there, and that which `opened` makes of them. Raises: as `opened`."""
        if not check_own(self.path) or self.place() is None:
            return 0, self._layout.version
        with contextlib.closing(sqlite3.connect(f"{self._uri}?mode=ro", uri=True)) as db:
            try:
                return self._layout.there(db), self._layout.version
            except NewerFile as error:
                raise self._newer(error) from None

    def _newer(self, error: NewerFile) -> ConfigError:
        hint = "Update Doorward, or go back to the copy of the state folder that was made before."
        return ConfigError(str(error), place=str(self.path), hint=hint)

    def connect(self, wait: float) -> sqlite3.Connection:
        """A connection to a file that exists. None is made by opening it."""
        return sqlite3.connect(
            f"{self._uri}?mode=rw", uri=True, timeout=wait, isolation_level=None, check_same_thread=False
        )

    @contextlib.contextmanager
    def transaction(self, wait: float, *pragmas: str) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction, which is nothing if the block fails. Raises: as `opened`."""
        with contextlib.closing(self.opened(wait)) as db:
            for pragma in pragmas:
                db.execute(f"PRAGMA {pragma}")
            db.execute("BEGIN IMMEDIATE")
            yield db
            if db.in_transaction:
                db.execute("COMMIT")

    @contextlib.contextmanager
    def errors(self, release: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Errors of SQLite and of the disk as a `StateError`; a file that turns out to be broken is put aside, once
        `release` has closed what is open of it."""
        which = self.place()
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if self.is_broken(error):
                release()
                with contextlib.suppress(OSError):
                    self.put_aside(error, which, 0)
            raise self.said(error) from None

    def as_it_was(self) -> sqlite3.Connection | None:
        """What the file holds without its log, if that can be read: for while the file itself cannot be had."""
        try:
            if self.present():
                db = sqlite3.connect(
                    f"{self._uri}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
                )
                if self._layout.is_current(db):
                    return db
                db.close()
        except (sqlite3.Error, OSError):
            pass
        return None

    @property
    def _uri(self) -> str:
        return f"file:{quote(str(self.path))}"

    def check(self, wait: float) -> None:
        """Read the whole file, and put it aside if it is broken. Raises: as `opened`."""
        if not self.present():
            return
        which, found = self.place(), "ok"
        try:
            with contextlib.closing(self.connect(wait)) as db:
                found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            if not self.is_broken(error):
                raise
            found = str(error)
        if found != "ok":
            self.put_aside(found, which, wait)

    def place(self) -> tuple[int, int] | None:
        """Which file is there now, as device and inode; `None` if there is none, or an empty one."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found.st_size else None

    def written(self) -> int:
        """When the file itself was last written to, in nanoseconds; 0 if there is none."""
        try:
            return self.path.stat().st_mtime_ns
        except OSError:
            return 0

    def present(self) -> bool:
        """Whether there is a file that is not empty. Makes sure that no other user can read it.

        Raises: ConfigError if the file or its folder is not ours; OSError."""
        own_folder(self.path.parent)
        for file in _beside(self.path):
            check_own(file)
        if not check_own(self.path):
            return False
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            # Not by a descriptor: to close a second one drops the locks of a connection in this process.
            self.path.chmod(0o600)
        return self.place() is not None

    def is_other(self) -> bool:
        """Whether there is a file that is no SQLite file at all. Raises: ConfigError if it is not ours; OSError."""
        if not check_own(self.path) or self.place() is None:
            return False
        try:
            with contextlib.closing(sqlite3.connect(f"{self._uri}?immutable=1", uri=True)) as db:
                db.execute("PRAGMA schema_version")
        except sqlite3.Error as error:
            return _code(error) == sqlite3.SQLITE_NOTADB
        return False

    def put_aside(self, why: object, which: tuple[int, int] | None, wait: float) -> None:
        """Rename a file that is of no use and the files beside it, if it is still the file `which`.

        Raises: FileHeld, OSError.
        """
        aside = self.path.with_name(f"{self.path.name}.{self._aside()}")
        with self._alone(wait):
            if self.place() != which:  # another process has made it anew
                return
            _remove(aside)
            for file, to in zip((*_beside(self.path), self.path), (*_beside(aside), aside), strict=True):
                if file.exists():
                    file.replace(to)
        log.warning(self._event, path=str(self.path), moved_to=str(aside), why=str(why), hint=self._hint)

    def remove(self) -> list[Path]:
        """Remove the file and the files beside it. Returns: those that were there. Raises: ConfigError, OSError."""
        with alone(self.path):
            return _remove(self.path)

    def said(self, error: Exception) -> StateError:
        """The error for a person: why the file cannot be used now, and what to do."""
        if self.is_busy(error):
            return StateError(
                f"{self.path}: another process holds it locked", hint="Try again. If it stays so, find that process."
            )
        if _code(error) == sqlite3.SQLITE_FULL or self._is_full():  # reading needs a little room, too
            return StateError(
                f"{self.path}: the disk is full", hint="Make room where the state folder is, or set DOORWARD_STATE_DIR."
            )
        return StateError(f"{self.path}: cannot be used: {error}", hint="Check the state folder and its disk.")

    @staticmethod
    def is_broken(error: Exception) -> bool:
        """Whether the file itself is bad. Otherwise it is locked, or cannot be written, or the disk is full."""
        if not isinstance(error, sqlite3.Error):
            return False
        if not hasattr(error, "sqlite_errorcode"):
            return "decode" in str(error)  # a text that is not UTF-8
        return _code(error) in _BROKEN or "no such table" in str(error) or "no such column" in str(error)

    @staticmethod
    def is_busy(error: Exception) -> bool:
        """Whether another process holds the file at the moment."""
        return isinstance(error, FileHeld) or _code(error) in _BUSY

    def _is_full(self) -> bool:
        try:
            return shutil.disk_usage(self.path.parent).free < MIN_FREE_BYTES
        except OSError:
            return False

    @contextlib.contextmanager
    def _alone(self, wait: float) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(alone(self.path, 2 * wait))
            except ConfigError:
                raise FileHeld(
                    "another process changes files in its folder", place=str(self.path), hint="Try again."
                ) from None
            yield

    def _make(self, wait: float) -> None:
        """Make an empty file beside its place, and rename it when complete: processes that start together share it. It
        reaches the disk once, as a whole, instead of by each step: somebody waits for it."""
        with self._alone(wait):
            if self.place() is not None:
                return
            _remove(self.path)
            new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            _remove(new)
            try:
                os.close(own_file(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
                with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
                    db.execute("PRAGMA synchronous = OFF")
                    db.execute("PRAGMA journal_mode = WAL")
                    self._layout.apply(db)
                with new.open("rb+") as made:
                    os.fsync(made.fileno())
                new.rename(self.path)
            finally:
                _remove(new)


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _beside(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{end}") for end in _COMPANION_SUFFIXES]


def _remove(path: Path) -> list[Path]:
    found = [file for file in (path, *_beside(path)) if file.exists()]
    for file in found:
        file.unlink(missing_ok=True)
    return found
