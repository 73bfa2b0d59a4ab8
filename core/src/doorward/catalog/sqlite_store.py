"""The catalog in one SQLite file, which any number of processes share: its tables, and every statement on them."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from doorward.catalog.search.document import FIELDS, WEIGHTS
from doorward.catalog.store import Broken, Contents, Only, Row, StoredObservation
from doorward.data.json_writing import dump
from doorward.data.words import Phrase
from doorward.host.sqlite_file import SqliteFile
from doorward.host.sqlite_layout import SqliteLayout
from doorward.model.errors import StateError

if TYPE_CHECKING:
    from sqlite_utils import Database

OPEN_WAIT = 2.0
"""Seconds to wait at the start for a file that is locked."""

WRITE_WAIT = 20.0
"""Seconds that a compile waits for its turn to write. Nobody waits to read."""

OBSERVATION_WAIT = 2.0
"""Seconds that what was seen of results waits for a process that is writing."""

_AMONG = "IN (SELECT value FROM json_each(?))"


def _tables(db: Database) -> None:
    db.table("servers").create({"name": str, "report": str, "words": str}, pk="name")
    db.table("compiles").insert({"number": 0})
    seen = {"server": str, "name": str, "digest": str, "shape": str, "times": int, "last": float}
    db.table("observed").create(seen, pk=("server", "name"))
    db.table("definitions").create({"server": str, "name": str, "schema": str}, pk=("server", "name"))
    columns = {"id": int, "server": str, "name": str, "original": str, "read_only": int, "record": str}
    functions = db.table("functions").create(columns, pk="id")
    functions.create_index(["server", "name"], "functions_by_name", unique=True)
    functions.create_index(["original", "server"], "functions_by_original")
    functions.create_index(["name"], "functions_called")
    db.execute(f"CREATE VIRTUAL TABLE search USING fts5 ({', '.join(FIELDS)}, tokenize = \"unicode61 tokenchars '_'\")")
    db.execute(f"INSERT INTO search (search, rank) VALUES ('rank', 'bm25({', '.join(map(str, WEIGHTS))})')")  # noqa: S608


LAYOUT = SqliteLayout((_tables,), "SELECT number FROM compiles", first=4)
"""What is compiled can be compiled again: a change of the tables may raise `first` instead of taking a step."""


class SqliteReader:
    """A `CatalogReader`."""

    def __init__(self, file: SqliteFile, db: sqlite3.Connection, place: tuple[int, int] | None) -> None:
        self._file, self._db, self._place = file, db, place
        self._broken = False
        db.execute("PRAGMA busy_timeout = 0")

    @property
    def current(self) -> bool:
        return not self._broken and self._place is not None and self._file.place() == self._place

    def close(self) -> None:
        self._db.close()

    def discard(self, why: object) -> None:
        with _told(self._file):
            self._file.put_aside(why, self._place, OPEN_WAIT)

    def _rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """All rows of a statement that only reads, at once."""
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            self._broken = self._broken or self._file.is_broken(error)
            raise Broken(self._file.path) if self._file.is_broken(error) else self._file.said(error) from None

    def version(self) -> tuple[int, ...]:
        return (*(self._place or (0, 0)), self._rows("SELECT number FROM compiles")[0][0])

    def servers(self) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM servers")}

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        if server is None:
            return self._rows("SELECT name, report FROM servers ORDER BY name")
        return self._rows("SELECT name, report FROM servers WHERE name = ?", [server])

    def settings(self) -> dict[str, str]:
        return dict(self._rows("SELECT name, json_extract(report, '$.settings') FROM servers"))

    def words(self, servers: Collection[str]) -> list[tuple[int, str]]:
        return self._rows(
            f"SELECT json_extract(report, '$.functions'), words FROM servers WHERE name {_AMONG}",  # noqa: S608
            [_listed(servers)],
        )

    def function(self, server: str, name: str) -> Row | None:
        rows = self._rows(
            "SELECT server, name, record FROM functions WHERE server = :server AND name = :name "
            "UNION ALL SELECT server, name, record FROM functions WHERE server = :server AND original = :name AND "
            ":name <> '' LIMIT 1",
            {"server": server, "name": name},
        )
        return Row(*rows[0]) if rows else None

    def functions(self, server: str) -> Iterator[Row]:
        return (
            Row(*row)
            for row in self._rows("SELECT server, name, record FROM functions WHERE server = ? ORDER BY id", (server,))
        )

    def rows(self, functions: Iterable[int]) -> list[Row]:
        one = "SELECT server, name, record FROM functions WHERE id = ?"
        return [Row(*row) for number in functions for row in self._rows(one, [number])]

    def names(self, server: str, column: Literal["name", "original"], most: int | None) -> tuple[str, ...]:
        values = (server, -1 if most is None else most)
        return tuple(
            r[0]
            for r in self._rows(f"SELECT {column} FROM functions WHERE server = ? ORDER BY id LIMIT ?", values)  # noqa: S608
        )

    def named(self, server: str) -> list[tuple[str, str, str]]:
        route = "coalesce(json_extract(record, '$.route'), '')"
        return self._rows(f"SELECT name, original, {route} FROM functions WHERE server = ? ORDER BY id", (server,))  # noqa: S608

    def aliases(self, server: str) -> list[tuple[str, str]]:
        aliased = """SELECT json_extract(record, '$.aliases'), name FROM functions WHERE server = ? AND record LIKE '%"aliases":["%'"""
        return self._rows(aliased, [server])

    def definition(self, server: str, name: str) -> str | None:
        rows = self._rows("SELECT schema FROM definitions WHERE server = ? AND name = ?", (server, name))
        return rows[0][0] if rows else None

    def observation(self, server: str, name: str) -> StoredObservation | None:
        rows = self._rows(
            "SELECT digest, shape, times, last FROM observed WHERE server = ? AND name = ?", (server, name)
        )
        return StoredObservation(*rows[0]) if rows else None

    # The search

    def functions_of(self, servers: Collection[str]) -> frozenset[int]:
        return frozenset(
            i
            for (i,) in self._rows(f"SELECT id FROM functions WHERE server {_AMONG}", [_listed(servers)])  # noqa: S608
        )

    def called(self, names: Collection[str]) -> set[int]:
        marks = ", ".join("?" * len(names))
        by_name = f"SELECT id FROM functions WHERE name IN ({marks}) UNION SELECT id FROM functions WHERE original IN ({marks})"  # noqa: S608
        return {i for (i,) in self._rows(by_name, [*names, *names])}

    def listed(self, only: Only, limit: int, offset: int) -> tuple[list[int], int]:
        match = _facts(only)
        where, values = ("WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?)", [match]) if match else ("", [])
        total = self._rows(f"SELECT count(*) FROM functions {where}", values)[0][0]  # noqa: S608
        listed = f"SELECT id FROM functions {where} ORDER BY server, id LIMIT ? OFFSET ?"  # noqa: S608
        return [i for (i,) in self._rows(listed, [*values, limit, offset])], total

    def having(self, fields: Sequence[str], phrases: Iterable[Phrase], only: Only) -> list[int]:
        return [
            i for (i,) in self._rows("SELECT rowid FROM search WHERE search MATCH ?", [_match(fields, phrases, only)])
        ]

    def ranked(self, fields: Sequence[str], phrases: Iterable[Phrase], only: Only, most: int | None) -> list[int]:
        best = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rank LIMIT ?"
        return [i for (i,) in self._rows(best, [_match(fields, phrases, only), -1 if most is None else most])]

    def count(self, fields: Sequence[str], phrases: Iterable[Phrase]) -> int:
        match = _match(fields, phrases, Only())
        return int(self._rows("SELECT count(*) FROM search WHERE search MATCH ?", [match])[0][0])

    def texts(self, functions: Sequence[int], fields: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
        columns, marks = ", ".join(fields), ",".join("?" * len(functions))
        found = self._rows(f"SELECT rowid, {columns} FROM search WHERE rowid IN ({marks})", functions)  # noqa: S608
        return [(number, tuple(texts)) for number, *texts in found]


class SqliteCatalog:
    """A `CatalogStore`."""

    def __init__(self, path: Path) -> None:
        self.where = path
        self._file = SqliteFile(path, LAYOUT, event="catalog_put_aside", hint="It is compiled again.")
        self._turn = threading.Lock()
        self._seen = 0

    def open(self, *, patient: bool = True) -> SqliteReader | None:
        with _told(self._file):
            db = self._file.found(OPEN_WAIT if patient else 0)
            return SqliteReader(self._file, db, self._file.place()) if db else None

    def made(self) -> SqliteReader:
        with _told(self._file):
            return SqliteReader(self._file, self._file.opened(OPEN_WAIT), self._file.place())

    def as_it_was(self) -> SqliteReader | None:
        db = self._file.as_it_was()
        return SqliteReader(self._file, db, None) if db else None

    def touched(self) -> bool:
        before, self._seen = self._seen, self._file.written()
        return before != self._seen

    def check(self) -> None:
        with _told(self._file):
            self._file.check(OPEN_WAIT)

    def remove(self) -> list[str]:
        return [str(file) for file in self._file.remove()]

    def replace(self, contents: Contents, lasts: Callable[[str, str], bool]) -> None:
        server, columns = contents.server, ", ".join(FIELDS)

        def write(db: sqlite3.Connection) -> None:
            _forget(db, server, lasts)
            first = db.execute("SELECT coalesce(max(id), 0) + 1 FROM functions").fetchone()[0]
            db.executemany(
                "INSERT INTO functions VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (i, server, f.name, id, reads, f.record)
                    for i, (f, id, reads, _) in enumerate(contents.functions, first)
                ),
            )
            db.executemany(
                f"INSERT INTO search (rowid, {columns}) VALUES (?{', ?' * len(FIELDS)})",  # noqa: S608
                ((i, *texts) for i, (_, _, _, texts) in enumerate(contents.functions, first)),
            )
            db.executemany(
                "INSERT INTO definitions VALUES (?, ?, ?)",
                ((server, name, text) for name, text in contents.definitions),
            )
            db.execute("INSERT INTO servers VALUES (?, ?, ?)", (server, contents.report, contents.words))

        self._write(write)

    def drop(self, servers: Iterable[str]) -> None:
        def write(db: sqlite3.Connection) -> None:
            for server in servers:
                _forget(db, server, lambda name, digest: False)

        self._write(write)

    def _write(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Do it in one transaction; once more in a file made anew if it turns out to be broken."""
        if not self._turn.acquire(timeout=WRITE_WAIT):
            raise StateError(f"{self.where}: others have been writing for {WRITE_WAIT:g} s", hint="Try again.")
        with contextlib.ExitStack() as stack:
            stack.callback(self._turn.release)
            stack.enter_context(_told(self._file))
            for again in (True, False):
                with contextlib.closing(self._file.opened(WRITE_WAIT)) as db:  # what is not committed is undone
                    which = self._file.place()
                    try:
                        db.execute(
                            "BEGIN IMMEDIATE"
                        )  # other servers and processes write too: wait for the turn now, not in the middle
                        write(db)
                        db.execute("COMMIT")
                        return
                    except sqlite3.Error as error:
                        if not (again and self._file.is_broken(error)):
                            raise
                        why = error
                self._file.put_aside(why, which, WRITE_WAIT)

    def merge_observations(
        self, seen: Mapping[tuple[str, str], Callable[[StoredObservation | None], StoredObservation]]
    ) -> None:
        with _told(self._file), contextlib.closing(self._file.connect(OBSERVATION_WAIT)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            for this, merged in seen.items():
                row = db.execute(
                    "SELECT digest, shape, times, last FROM observed WHERE server = ? AND name = ?", this
                ).fetchone()
                new = merged(StoredObservation(*row) if row else None)
                db.execute("INSERT OR REPLACE INTO observed VALUES (?, ?, ?, ?, ?, ?)", (*this, *new))


@contextlib.contextmanager
def _told(file: SqliteFile) -> Iterator[None]:
    """What goes wrong with the file is a StateError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise file.said(error) from None


def _forget(db: sqlite3.Connection, server: str, lasts: Callable[[str, str], bool]) -> None:
    db.execute("UPDATE compiles SET number = number + 1")
    db.execute("DELETE FROM search WHERE rowid IN (SELECT id FROM functions WHERE server = ?)", [server])
    for table, column in (("functions", "server"), ("definitions", "server"), ("servers", "name")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", [server])  # noqa: S608
    seen = db.execute("SELECT name, digest FROM observed WHERE server = ?", [server]).fetchall()
    gone = [(server, name) for name, digest in seen if not lasts(name, digest)]
    db.executemany("DELETE FROM observed WHERE server = ? AND name = ?", gone)


def _listed(values: Collection[str]) -> str:
    return dump([*values]).decode()


# What FTS5 is asked. Words have letters and digits only, facts `_` besides: quoted, nothing in them is syntax.


def _match(fields: Sequence[str], phrases: Iterable[Phrase], only: Only) -> str:
    any_of = " OR ".join("(" + " AND ".join(f'"{word}"' for word in phrase) + ")" for phrase in phrases)
    match, facts = f"{{{' '.join(fields)}}} : ({any_of})", _facts(only)
    return f"{facts} AND ({match})" if facts else match


def _facts(only: Only) -> str:
    all_of = [f'"{fact.rstrip("*")}"{"*" if fact.endswith("*") else ""}' for fact in only.facts]
    if only.one_of is not None:
        all_of.append("(" + " OR ".join(f'"{fact}"' for fact in only.one_of or [""]) + ")")
    return f"facts : ({' AND '.join(all_of)})" if all_of else ""
