"""A SQLite file of ours: made whole or not at all, brought to its present layout, judged when it fails, put aside when
it is broken.

It has a write-ahead log: nobody who reads waits for who writes. A connection to a file that was removed goes on with
what it was. `sqlite-utils` makes and changes the tables. To import it takes a tenth of a second or more, so nothing
else needs it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from doorward.host import files
from doorward.host.logs import log
from doorward.model.errors import ConfigError, StateError

if TYPE_CHECKING:
    from sqlite_utils import Database

LEAST_ROOM = 2**17
"""Bytes of a disk below which it is called full."""

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite puts beside a file. An old one would be taken for that of a new file."""

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(frozen=True, slots=True)
class SqliteLayout:
    """The tables of a file. The first of `steps` makes them in an empty file, which has the version `first` then
    (SQLite's `user_version`); each further one brings a file from one version to the next. A file of any other version
    is begun anew."""

    steps: tuple[Callable[[Database], None], ...]
    probe: str
    """A statement that every file of this layout can answer at once."""

    first: int = 1
    application: int = 0
    """SQLite's `application_id`."""

    made: str = ""
    """What all steps come to, as SQL: for a file that is made while somebody waits, who need not wait for sqlite-utils,
    too. A test of the layout's owner holds both together."""

    @property
    def version(self) -> int:
        return self.first + len(self.steps) - 1


class Held(ConfigError):
    """Another process is making or removing files in the folder: to try again helps."""


class SqliteFile:
    """The file of one layout at a path. One that is of no use is renamed to `NAME.ASIDE`, and the log says `event`."""

    def __init__(
        self, path: Path, layout: SqliteLayout, *, event: str, hint: str, aside: Callable[[], str] = lambda: "broken"
    ) -> None:
        self.path = path
        self._layout = layout
        self._event, self._hint, self._aside = event, hint, aside

    def opened(self, wait: float) -> sqlite3.Connection:
        """A connection that waits so many seconds for its turn. A file that is missing, broken or of no layout of ours
        is made anew.

        Raises: sqlite3.Error and OSError, see `said`; Held; ConfigError if it is not ours.
        """
        for _ in range(3):
            if db := self.found(wait):
                return db
            self._make(wait)
        raise sqlite3.OperationalError("it is changed by another program all the time")

    def found(self, wait: float) -> sqlite3.Connection | None:
        """The same, of a file that is there. One that is of no use is put aside, and none is made."""
        if not self.present():
            return None
        which = self.place()
        db = self.connect(wait)
        try:
            if self._is_current(db):
                with contextlib.suppress(sqlite3.OperationalError):  # an older one that is in use: the next time
                    db.execute("PRAGMA journal_mode = WAL")
                return db
            why: object = "it has another layout"
        except sqlite3.Error as error:
            if not self.is_broken(error):
                db.close()
                raise
            why = error
        except BaseException:
            db.close()
            raise
        db.close()
        self.put_aside(why, which, wait)
        return None

    def connect(self, wait: float) -> sqlite3.Connection:
        """To a file that is there: none is made by opening it."""
        return sqlite3.connect(
            f"{self._uri}?mode=rw", uri=True, timeout=wait, isolation_level=None, check_same_thread=False
        )

    def as_it_was(self) -> sqlite3.Connection | None:
        """While the file cannot be had: what it was, without what is in its log, if that can be read."""
        try:
            if self.present():
                db = sqlite3.connect(
                    f"{self._uri}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
                )
                if (
                    _version(db) == (self._layout.application, self._layout.version)
                    and db.execute(self._layout.probe).fetchone()
                ):
                    return db
                db.close()
        except (sqlite3.Error, OSError):
            pass
        return None

    @property
    def _uri(self) -> str:
        return f"file:{quote(str(self.path))}"

    def check(self, wait: float) -> None:
        """Look whether all of the file can be read; put it aside if it is broken. Raises: as `opened`."""
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
        """Which file is there now; `None` if there is none, or one of which all was taken away."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found.st_size else None

    def written(self) -> int:
        """When the file itself was written to."""
        try:
            return self.path.stat().st_mtime_ns
        except OSError:
            return 0

    def present(self) -> bool:
        """Whether there is a file with something in it, in a folder that is ours; nobody else can read it from now on.

        Raises: ConfigError if it is not ours; OSError."""
        files.own_folder(self.path.parent)
        for file in _beside(self.path):
            files.check_own(file)
        if not files.check_own(self.path):
            return False
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            self.path.chmod(
                0o600
            )  # not opened: to close a second descriptor would drop the locks of a connection in this process
        return self.place() is not None

    def put_aside(self, why: object, which: tuple[int, int] | None, wait: float) -> None:
        """Rename a file that is of no use, with what belongs to it, if it is still that one. Raises: Held, OSError."""
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
        """Remove the file and what belongs to it. Returns: what was there. Raises: ConfigError, OSError."""
        with files.alone(self.path):
            return _remove(self.path)

    def said(self, error: Exception) -> StateError:
        """What is wrong with a file that cannot be used now."""
        if self.is_busy(error):
            return StateError(
                f"{self.path}: another process holds it locked", hint="Try again. If it stays so, find that process."
            )
        if _code(error) == sqlite3.SQLITE_FULL or self._is_full():  # to read needs a little room, too
            return StateError(
                f"{self.path}: the disk is full", hint="Make room where the state folder is, or set DOORWARD_STATE_DIR."
            )
        return StateError(f"{self.path}: cannot be used: {error}", hint="Check the state folder and its disk.")

    @staticmethod
    def is_broken(error: Exception) -> bool:
        """Whether the file itself is bad; otherwise it is locked, or cannot be written, or the disk is full."""
        if not isinstance(error, sqlite3.Error):
            return False
        if not hasattr(error, "sqlite_errorcode"):
            return "decode" in str(error)  # a text that is none
        return _code(error) in _BROKEN or "no such table" in str(error) or "no such column" in str(error)

    @staticmethod
    def is_busy(error: Exception) -> bool:
        """Whether another process holds the file just now."""
        return isinstance(error, Held) or _code(error) in _BUSY

    def _is_full(self) -> bool:
        try:
            return shutil.disk_usage(self.path.parent).free < LEAST_ROOM
        except OSError:
            return False

    @contextlib.contextmanager
    def _alone(self, wait: float) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(files.alone(self.path, 2 * wait))
            except ConfigError:
                raise Held(
                    "another process changes files in its folder", place=str(self.path), hint="Try again."
                ) from None
            yield

    def _is_current(self, db: sqlite3.Connection) -> bool:
        """Whether the file has the present layout, or has it now."""
        application, version = _version(db)
        if application != self._layout.application or not self._layout.first <= version <= self._layout.version:
            return False
        if version < self._layout.version:
            self._advance(db)
        db.execute(self._layout.probe).fetchone()
        return True

    def _make(self, wait: float) -> None:
        """Make an empty one beside its place, and put it there whole: processes that start together share one."""
        with self._alone(wait):
            if self.place() is not None:
                return
            _remove(self.path)
            new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            _remove(new)
            try:
                os.close(files.own_file(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
                with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
                    db.execute("PRAGMA journal_mode = WAL")
                    self._advance(db)
                new.rename(self.path)
            finally:
                _remove(new)

    def _advance(self, db: sqlite3.Connection) -> None:
        """Take the steps that a file has not taken yet, all or none."""
        db.execute("BEGIN IMMEDIATE")
        try:
            version = _version(db)[1]  # another process may have been quicker
            if self._layout.made and version == 0:
                for statement in self._layout.made.split(";"):
                    db.execute(statement)
            else:
                self._take(db, self._layout.steps[max(0, version + 1 - self._layout.first) :])
            db.execute(f"PRAGMA application_id = {self._layout.application}")
            db.execute(f"PRAGMA user_version = {self._layout.version}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    @staticmethod
    def _take(db: sqlite3.Connection, steps: tuple[Callable[[Database], None], ...]) -> None:
        from sqlite_utils import Database

        tables = Database(
            db, recursive_triggers=False, execute_plugins=False
        )  # its plugins are none that somebody configured
        for step in steps:
            step(tables)


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _version(db: sqlite3.Connection) -> tuple[int, int]:
    return db.execute("PRAGMA application_id").fetchone()[0], db.execute("PRAGMA user_version").fetchone()[0]


def _beside(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{end}") for end in _BESIDE]


def _remove(path: Path) -> list[Path]:
    found = [file for file in (path, *_beside(path)) if file.exists()]
    for file in found:
        file.unlink(missing_ok=True)
    return found
