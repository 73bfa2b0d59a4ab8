"""The lessons in one SQLite file, which any number of processes share: every statement on it.

It is only a help: if the file is broken it is put aside, and learning begins anew.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from doorward.files import SqliteFile, SqliteLayout

from doorward_search.learning.lessons import FLOW, FORGOTTEN_SECONDS, WITH, WORD, Amount, Lesson, more

if TYPE_CHECKING:
    from sqlite_utils import Database

MAX_LESSONS = {WORD: 3000, WITH: 700, FLOW: 700}
"""Lessons of each kind that are kept for a principal."""

MAX_PRINCIPALS = 1000
"""Principals whose lessons are kept."""

WRITE_WAIT_SECONDS = 2.0
"""Seconds to wait for another process that is writing."""

_MADE = """CREATE TABLE "lessons" (
   "principal" TEXT,
   "kind" TEXT,
   "subject" TEXT,
   "object" TEXT,
   "times" REAL,
   "last" REAL,
   PRIMARY KEY ("principal", "kind", "subject", "object")
)"""


def _table(db: Database) -> None:
    columns = {"principal": str, "kind": str, "subject": str, "object": str, "times": float, "last": float}
    db.table("lessons").create(columns, pk=("principal", "kind", "subject", "object"))


LAYOUT = SqliteLayout((_table,), "SELECT count(*) FROM (SELECT 1 FROM lessons LIMIT 1)", made=_MADE)

_KEY = "principal = ? AND kind = ? AND subject = ? AND object = ?"
_SURPLUS = (
    "DELETE FROM lessons WHERE rowid IN (SELECT rowid FROM lessons WHERE principal = ? AND kind = ? "
    "ORDER BY last DESC, times DESC LIMIT -1 OFFSET ?)"
)
_LEAVING = (
    "DELETE FROM lessons WHERE principal IN "
    "(SELECT principal FROM lessons GROUP BY principal ORDER BY max(last) DESC LIMIT -1 OFFSET ?)"
)


class SqliteLessons:
    """A `LessonStore` in one file. Reading has a connection of its own, so that it never waits for a write."""

    def __init__(self, path: Path) -> None:
        self.where = path
        self._file = SqliteFile(
            path, LAYOUT, event="lessons_put_aside", hint="What was learned from use is gone, and is learned anew."
        )
        self._log = path.with_name(f"{path.name}-wal")
        self._reader: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None

    def version(self) -> object:
        return (_stamp(self.where), _stamp(self._log)) if self._file.place() else None

    def of(self, principal: str) -> list[tuple[Lesson, Amount]]:
        with self._file.errors(self.close):
            db = self._reading()
            statement = "SELECT kind, subject, object, times, last FROM lessons WHERE principal = ?"
            rows = db.execute(statement, [principal]).fetchall() if db else []
        return [(Lesson(kind, subject, object), Amount(times, last)) for kind, subject, object, times, last in rows]

    def _reading(self) -> sqlite3.Connection | None:
        """The connection that reads; `None` if there is no file. Another one if the file has been replaced."""
        place = self._file.place()
        if self._reader is None or place != self._place:
            self.close()
            self._reader, self._place = self._file.found(0), place
        return self._reader

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def add(self, new: Mapping[tuple[str, Lesson], Amount], now: float) -> object:
        with self._writing() as db:
            before = self.version()  # nobody else writes now
            for (principal, lesson), amount in new.items():
                found = db.execute(f"SELECT times, last FROM lessons WHERE {_KEY}", [principal, *lesson]).fetchone()  # noqa: S608
                whole = more(lesson.kind, Amount(*found) if found else None, amount)
                db.execute("INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?, ?)", [principal, *lesson, *whole])
            db.execute("DELETE FROM lessons WHERE last < ?", [now - FORGOTTEN_SECONDS])
            principals = {principal for principal, _ in new}
            db.executemany(_SURPLUS, [(who, kind, most) for who in principals for kind, most in MAX_LESSONS.items()])
            db.execute(_LEAVING, [MAX_PRINCIPALS])
        return before

    def everything(self) -> Iterator[tuple[str, Lesson, Amount]]:
        rows = []
        with self._file.errors(self.close):
            if db := self._file.found(WRITE_WAIT_SECONDS):
                with contextlib.closing(db):
                    rows = db.execute(
                        "SELECT principal, kind, subject, object, times, last FROM lessons "
                        "ORDER BY principal, kind, times DESC, subject, object"
                    ).fetchall()
        return ((row[0], Lesson(*row[1:4]), Amount(*row[4:])) for row in rows)

    def clear(self, principal: str | None = None) -> int:
        if not self._file.place():
            return 0
        with self._writing() as db:
            if principal is None:
                removed = db.execute("DELETE FROM lessons").rowcount
            else:
                removed = db.execute("DELETE FROM lessons WHERE principal = ?", [principal]).rowcount
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log has what was removed, too
        return removed

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction. What is removed is overwritten: to clear is to forget."""
        pragmas = "secure_delete = ON", "synchronous = NORMAL"
        with self._file.errors(self.close), self._file.transaction(WRITE_WAIT_SECONDS, *pragmas) as db:
            yield db


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None
