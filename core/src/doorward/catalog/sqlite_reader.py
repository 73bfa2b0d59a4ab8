"""The catalog in an SQLite file, open for reading: every statement that reads."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from doorward.catalog.store import Broken, Only, Row, StoredEnhancement, StoredObservation
from doorward.data.json_writing import dump
from doorward.data.words import Phrase
from doorward.host.sqlite_file import SqliteFile

DISCARD_WAIT_SECONDS = 2.0
"""Seconds to wait for a locked file before giving up putting it aside."""

_AMONG = "IN (SELECT value FROM json_each(?))"


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
        aliased = (
            "SELECT json_extract(record, '$.aliases'), name FROM functions "
            """WHERE server = ? AND record LIKE '%"aliases":["%'"""
        )
        return self._rows(aliased, [server])

    def definition(self, server: str, name: str) -> str | None:
        rows = self._rows("SELECT schema FROM definitions WHERE server = ? AND name = ?", (server, name))
        return rows[0][0] if rows else None

    def observation(self, server: str, name: str) -> StoredObservation | None:
        rows = self._rows(
            "SELECT digest, shape, times, last FROM observed WHERE server = ? AND name = ?", (server, name)
        )
        return StoredObservation(*rows[0]) if rows else None

    def enhancements(self, server: str, name: str | None = None) -> list[tuple[str, StoredEnhancement]]:
        of_one, values = ("", [server]) if name is None else (" AND name = ?", [server, name])
        stored = f"SELECT name, documented, record, words, waits FROM enhancements WHERE server = ?{of_one}"  # noqa: S608
        return [
            (name, StoredEnhancement(documented, record, words, bool(waits)))
            for name, documented, record, words, waits in self._rows(stored, values)
        ]

    # The search

    def functions_of(self, servers: Collection[str]) -> frozenset[int]:
        return frozenset(
            i
            for (i,) in self._rows(f"SELECT id FROM functions WHERE server {_AMONG}", [_listed(servers)])  # noqa: S608
        )

    def called(self, names: Collection[str]) -> set[int]:
        marks = ", ".join("?" * len(names))
        by_name, by_id = (f"SELECT id FROM functions WHERE {c} IN ({marks})" for c in ("name", "original"))  # noqa: S608
        return {i for (i,) in self._rows(f"{by_name} UNION {by_id}", [*names, *names])}

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


@contextlib.contextmanager
def state_errors(file: SqliteFile) -> Iterator[None]:
    """Whatever goes wrong with the file is raised as a StateError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise file.said(error) from None


def _listed(values: Collection[str]) -> str:
    return dump([*values]).decode()


# Expressions of FTS5. Words have only letters and digits, facts also `_`: once quoted, nothing in them is syntax.


def _match(fields: Sequence[str], phrases: Iterable[Phrase], only: Only) -> str:
    any_of = " OR ".join("(" + " AND ".join(f'"{word}"' for word in phrase) + ")" for phrase in phrases)
    match, facts = f"{{{' '.join(fields)}}} : ({any_of})", _facts(only)
    return f"{facts} AND ({match})" if facts else match


def _facts(only: Only) -> str:
    all_of = [f'"{fact.rstrip("*")}"{"*" if fact.endswith("*") else ""}' for fact in only.facts]
    if only.one_of is not None:
        all_of.append("(" + " OR ".join(f'"{fact}"' for fact in only.one_of or [""]) + ")")
    return f"facts : ({' AND '.join(all_of)})" if all_of else ""
