"""The catalog in an SQLite file, open for reading: every statement that reads."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from doorward.engines import Broken, Row

from doorward_store_sqlite.sqlite_file import SqliteFile

DISCARD_WAIT_SECONDS = 2.0
"""Seconds to wait for a locked file before giving up putting it aside."""


class SqliteReader:
    """A `CatalogReader` of one file."""

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
        with state_errors(self._file):
            self._file.put_aside(why, self._place, DISCARD_WAIT_SECONDS)

    def _rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """All rows of a statement that only reads, at once."""
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            # An emptied file that is closed takes the write-ahead log of the new one with it: this reader is of no use.
            cut_off = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
            self._broken = self._broken or cut_off or self._file.is_broken(error)
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

    def derived(self, name: str, server: str | None = None) -> list[tuple[str, bytes]]:
        if server is None:
            return self._rows("SELECT server, content FROM derived WHERE name = ? ORDER BY server", [name])
        return self._rows("SELECT server, content FROM derived WHERE server = ? AND name = ?", [server, name])

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
        aliased = (
            "SELECT json_extract(record, '$.aliases'), name FROM functions "
            """WHERE server = ? AND record LIKE '%"aliases":["%'"""
        )
        return self._rows(aliased, [server])

    def definition(self, server: str, name: str) -> str | None:
        rows = self._rows("SELECT schema FROM definitions WHERE server = ? AND name = ?", (server, name))
        return rows[0][0] if rows else None


@contextlib.contextmanager
def state_errors(file: SqliteFile) -> Iterator[None]:
    """Whatever goes wrong with the file is raised as a StateError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise file.said(error) from None
