"""The catalog in one SQLite file, which any number of processes share: its tables, and every statement that writes."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import StateError
from doorward.engines import Contents

from doorward_store_sqlite.catalog_reader import SqliteReader, state_errors
from doorward_store_sqlite.sqlite_file import SqliteFile
from doorward_store_sqlite.sqlite_layout import SqliteLayout

if TYPE_CHECKING:
    from sqlite_utils import Database

OPEN_WAIT_SECONDS = 2.0
"""Seconds to wait at the start for a file that is locked."""

WRITE_WAIT_SECONDS = 20.0
"""Seconds that a compile waits for its turn to write. Readers never wait."""

DERIVED_WAIT_SECONDS = 2.0
"""Seconds that storing what was derived anew waits for a process that is writing."""


def _tables(db: Database) -> None:
    db.table("servers").create({"name": str, "report": str}, pk="name")
    db.table("compiles").insert({"number": 0})
    enhanced = {"server": str, "name": str, "documented": str, "record": str, "words": str, "waits": int}
    db.table("enhancements").create(enhanced, pk=("server", "name"))
    db.table("definitions").create({"server": str, "name": str, "schema": str}, pk=("server", "name"))
    columns = {"id": int, "server": str, "name": str, "original": str, "read_only": int, "record": str}
    functions = db.table("functions").create(columns, pk="id")
    functions.create_index(["server", "name"], "functions_by_name", unique=True)
    functions.create_index(["original", "server"], "functions_by_original")
    functions.create_index(["name"], "functions_called")


def _segments(db: Database) -> None:
    """The search has an index of its own: the full-text index that was here goes. Servers that have no segment get one
    when they are searched. What their functions need only a compile finds out: it must not take them for unchanged."""
    db.execute("DROP TABLE IF EXISTS search")
    db.execute("DROP INDEX IF EXISTS functions_called")  # only that search looked for a name in all servers
    db.table("servers").transform(drop={"words"})
    db.execute("UPDATE servers SET report = json_set(report, '$.fingerprint', '')")
    db.table("segments").create({"server": str, "content": bytes, "graph": str}, pk="server")


def _derived(db: Database) -> None:
    """What is derived of functions has a name."""
    db.table("derived").create({"server": str, "name": str, "content": bytes}, pk=("server", "name"))
    for name, column in (("segment", "content"), ("graph", "graph")):
        copied = f"SELECT server, '{name}', CAST({column} AS BLOB) FROM segments WHERE {column} IS NOT NULL"  # noqa: S608
        db.execute(f"INSERT INTO derived {copied}")
    db.execute("DROP TABLE segments")


def _without_observed(db: Database) -> None:
    """What results were like is no part of the catalog any more: it is observed again."""
    db.execute("DROP TABLE IF EXISTS observed")


_MADE = """CREATE TABLE "servers" ("name" TEXT PRIMARY KEY, "report" TEXT);
CREATE TABLE "compiles" ("number" INTEGER);
INSERT INTO "compiles" VALUES (0);
CREATE TABLE "enhancements" (
   "server" TEXT, "name" TEXT, "documented" TEXT, "record" TEXT, "words" TEXT, "waits" INTEGER,
   PRIMARY KEY ("server", "name")
);
CREATE TABLE "definitions" ("server" TEXT, "name" TEXT, "schema" TEXT, PRIMARY KEY ("server", "name"));
CREATE TABLE "functions" (
   "id" INTEGER PRIMARY KEY, "server" TEXT, "name" TEXT, "original" TEXT, "read_only" INTEGER, "record" TEXT
);
CREATE UNIQUE INDEX "functions_by_name" ON "functions" ("server", "name");
CREATE INDEX "functions_by_original" ON "functions" ("original", "server");
CREATE TABLE "derived" ("server" TEXT, "name" TEXT, "content" BLOB, PRIMARY KEY ("server", "name"))"""

LAYOUT = SqliteLayout(
    (_tables, _segments, _derived, _without_observed), "SELECT number FROM compiles", first=5, made=_MADE
)
"""`enhancements` is read once by the plugin that stores them now: a change of the tables is a further step."""


class SqliteCatalog:
    """A `CatalogStore` in one file."""

    def __init__(self, path: Path) -> None:
        self.where = path
        self._file = SqliteFile(path, LAYOUT, event="catalog_put_aside", hint="It is compiled again.")
        self._turn = threading.Lock()
        self._seen = 0

    def open(self, *, patient: bool = True) -> SqliteReader | None:
        if not patient and not self._file.written():
            return None  # each run asks while there is no catalog
        with state_errors(self._file):
            db = self._file.found(OPEN_WAIT_SECONDS if patient else 0)
            return SqliteReader(self._file, db, self._file.place()) if db else None

    def made(self) -> SqliteReader:
        with state_errors(self._file):
            return SqliteReader(self._file, self._file.opened(OPEN_WAIT_SECONDS), self._file.place())

    def as_it_was(self) -> SqliteReader | None:
        db = self._file.as_it_was()
        return SqliteReader(self._file, db, None) if db else None

    def touched(self) -> bool:
        before, self._seen = self._seen, self._file.written()
        return before != self._seen

    def check(self) -> None:
        with state_errors(self._file):
            self._file.check(OPEN_WAIT_SECONDS)

    def remove(self) -> list[str]:
        return [str(file) for file in self._file.remove()]

    def replace(self, contents: Contents) -> None:
        server = contents.server

        def write(db: sqlite3.Connection) -> None:
            _forget(db, server)
            first = db.execute("SELECT coalesce(max(id), 0) + 1 FROM functions").fetchone()[0]
            db.executemany(
                "INSERT INTO functions VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (i, server, f.name, id, reads, f.record)
                    for i, (f, id, reads) in enumerate(contents.functions, first)
                ),
            )
            db.executemany(
                "INSERT INTO derived VALUES (?, ?, ?)",
                ((server, name, content) for name, content in contents.derived.items()),
            )
            db.executemany(
                "INSERT INTO definitions VALUES (?, ?, ?)",
                ((server, name, text) for name, text in contents.definitions),
            )
            db.execute("INSERT INTO servers VALUES (?, ?)", (server, contents.report))

        self._write(write)

    def replace_derived(self, server: str, name: str, content: bytes) -> None:
        with state_errors(self._file), contextlib.closing(self._file.connect(DERIVED_WAIT_SECONDS)) as db, db:
            there = "SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM servers WHERE name = ?)"
            db.execute(f"INSERT OR REPLACE INTO derived {there}", (server, name, content, server))

    def drop(self, servers: Iterable[str]) -> None:
        def write(db: sqlite3.Connection) -> None:
            for server in servers:
                _forget(db, server)

        self._write(write)

    def _write(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Write in one transaction. If the file turns out to be broken, make a new one and write again."""
        if not self._turn.acquire(timeout=WRITE_WAIT_SECONDS):
            raise StateError(f"{self.where}: others have been writing for {WRITE_WAIT_SECONDS:g} s", hint="Try again.")
        with contextlib.ExitStack() as stack:
            stack.callback(self._turn.release)
            stack.enter_context(state_errors(self._file))
            for again in (True, False):
                with contextlib.closing(
                    self._file.opened(WRITE_WAIT_SECONDS)
                ) as db:  # closing undoes what is not committed
                    which = self._file.place()
                    try:
                        db.execute("PRAGMA synchronous = NORMAL")  # a power cut may take it: it is compiled again
                        db.execute("BEGIN IMMEDIATE")  # wait for other writers now, not in the middle
                        write(db)
                        db.execute("COMMIT")
                        return
                    except sqlite3.Error as error:
                        if not (again and self._file.is_broken(error)):
                            raise
                        why = error
                self._file.put_aside(why, which, WRITE_WAIT_SECONDS)


def _forget(db: sqlite3.Connection, server: str) -> None:
    db.execute("UPDATE compiles SET number = number + 1")
    for table, column in (
        ("functions", "server"),
        ("definitions", "server"),
        ("derived", "server"),
        ("servers", "name"),
    ):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", [server])  # noqa: S608
