"""The stored functions of all servers: compile into it, look up, search.

One SQLite file that is opened in constant time: nothing is read until it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic_core import from_json

from doorward.names import Named, python_name
from doorward.observed import forget_changed
from doorward.programs import digest
from doorward.records import Report, as_json, restored, scrubbed
from doorward.schemas import closure
from doorward.search_document import FIELDS, SAID, access_fact, document, server_fact, tag_fact
from doorward.search_question import read as read_question
from doorward.search_ranking import Ranking, Words
from doorward.search_words import stems
from doorward.types import Compiled, Function, Schema
from doorward.values import plain

VERSION = 4
"""Of the file's layout: another one is built anew."""

_LAYOUT = """
CREATE TABLE servers (name TEXT PRIMARY KEY, report TEXT, words TEXT);
CREATE TABLE compiles (number INTEGER);
INSERT INTO compiles VALUES (0);
CREATE TABLE observed (server TEXT, name TEXT, digest TEXT, shape TEXT, times INTEGER, last REAL, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE definitions (server TEXT, name TEXT, schema TEXT, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE functions (id INTEGER PRIMARY KEY, server TEXT, name TEXT, original TEXT, read_only INTEGER, record TEXT);
CREATE UNIQUE INDEX functions_by_name ON functions (server, name);
CREATE INDEX functions_by_original ON functions (original, server);
CREATE INDEX functions_called ON functions (name);
CREATE VIRTUAL TABLE search USING fts5 ({fields}, tokenize = "unicode61 tokenchars '_'");
INSERT INTO search (search, rank) VALUES ('rank', 'bm25(0, 0, 5, 3, 3, 2, 2, 1, 1)');
PRAGMA user_version = {version};
"""

MOST_WORDS = 50_000
"""Of a server that the search knows how common they are."""

FEW_SERVERS = 20
"""Servers that the index is asked for by their names; of more, it is asked for everything, and what is not theirs left out."""

_AMONG = "IN (SELECT value FROM json_each(?))"


class Catalog:
    """The functions in a SQLite file. Readers see a compile of another process at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._db = self._open()
        self._seen = self.version()
        self.report = lru_cache(4096)(self._report)
        self.function = lru_cache(4096)(self._function)
        self.definition = lru_cache(4096)(self._definition)
        self.names = lru_cache(256)(self._names)
        self.first = lru_cache(1024)(self._first)
        self.promise = lru_cache(4096)(self._promise)
        self._words = lru_cache(64)(self._read_words)
        self._ids = lru_cache(64)(self._read_ids)
        self._doing: dict[str, frozenset[int]] = {}

    def _open(self) -> sqlite3.Connection:
        """The database. A file that is none, or of another layout, is replaced: a catalog can be compiled again. One that
        is only locked is not."""
        for _ in range(3):
            if not self.path.exists():
                self._create()
            db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
            try:
                if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                    self._file = self.path.stat().st_ino
                    return db
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    db.close()
                    raise
            db.close()
            self.path.unlink(missing_ok=True)
        raise sqlite3.DatabaseError(f"{self.path} cannot be made a catalog")

    def _create(self) -> None:
        """Make an empty catalog beside its place, and put it there whole: processes that start together share one."""
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(new)) as db:
            db.executescript(_LAYOUT.format(fields=", ".join(FIELDS), version=VERSION))
        new.chmod(0o600)
        with contextlib.suppress(FileExistsError):
            os.link(new, self.path)
        new.unlink()

    def close(self) -> None:
        self._db.close()

    # Reading

    def version(self) -> tuple[int, ...]:
        """Another one after each compile, by whatever process; a file that was removed and made anew included. What was observed
        of results is no compile: nobody needs to be told."""
        if not self.path.exists() or self.path.stat().st_ino != self._file:
            self._db.close()
            self._db = self._open()
        return self._file, self._db.execute("SELECT number FROM compiles").fetchone()[0]

    def refresh(self) -> bool:
        """Forget what was read if a compile has changed the file since. True if it has."""
        now = self.version()
        if now == self._seen:
            return False
        self._seen = now
        for cached in (self.report, self.function, self.definition, self.names, self.first, self.promise, self._words, self._ids):
            cached.cache_clear()
        self._doing = {}
        return True

    def reports(self) -> dict[str, Report]:
        """The last compile of each server."""
        rows = self._db.execute("SELECT name, report FROM servers ORDER BY name")
        return {name: Report(**from_json(report)) for name, report in rows}

    def _report(self, server: str) -> Report | None:
        """The last compile of one server."""
        row = self._db.execute("SELECT report FROM servers WHERE name = ?", [server]).fetchone()
        return Report(**from_json(row[0])) if row else None

    def settings(self) -> dict[str, str]:
        """The `settings` of the last compile of each server."""
        return dict(self._db.execute("SELECT name, json_extract(report, '$.settings') FROM servers").fetchall())

    def _function(self, server: str, name: str) -> Function | None:
        row = self._db.execute(
            "SELECT server, name, record FROM functions WHERE server = :server AND name = :name "
            "UNION ALL SELECT server, name, record FROM functions WHERE server = :server AND original = :name AND :name <> '' LIMIT 1",
            {"server": server, "name": name},
        ).fetchone()
        return restored(*row) if row else None

    def _promise(self, server: str, name: str) -> str:
        """A hash of what callers of a function rely on, its schemas with all that they refer to; "" if there is none."""
        function = self.function(server, name)
        if function is None:
            return ""
        shapes = [function.parameters, function.returns]
        return digest(shapes, closure(shapes, lambda name: self.definition(server, name)))

    def _definition(self, server: str, name: str) -> Schema | None:
        row = self._db.execute("SELECT schema FROM definitions WHERE server = ? AND name = ?", (server, name)).fetchone()
        return from_json(row[0]) if row else None

    def _names(self, server: str, column: Literal["name", "original"] = "name") -> tuple[str, ...]:
        return tuple(r[0] for r in self._db.execute(f"SELECT {column} FROM functions WHERE server = ? ORDER BY id", (server,)))  # noqa: S608

    def _first(self, server: str, most: int) -> tuple[str, ...]:
        """The names of a server's first functions."""
        names = self._db.execute("SELECT name FROM functions WHERE server = ? ORDER BY id LIMIT ?", (server, most))
        return tuple(name for (name,) in names)

    def observation(self, server: str, name: str) -> tuple[str, str, int, float] | None:
        """What `Observed` keeps of a function: its digest then, the shape, how often, and when it was last seen."""
        columns = "SELECT digest, shape, times, last FROM observed WHERE server = ? AND name = ?"
        row: tuple[str, str, int, float] | None = self._db.execute(columns, (server, name)).fetchone()
        return row

    def functions(self, server: str) -> Iterable[Function]:
        """All functions of a server, in the order of its document."""
        for row in self._db.execute("SELECT server, name, record FROM functions WHERE server = ? ORDER BY id", (server,)):
            yield restored(*row)

    def named(self, server: str) -> Iterator[Named]:
        """The names of a server's functions, with what they were made of."""
        rows = self._db.execute(
            "SELECT name, original, json_extract(record, '$.route') FROM functions WHERE server = ? ORDER BY id", (server,)
        )
        return (Named(name, original, route or "") for name, original, route in rows)

    def search(
        self, query: str, *, servers: Sequence[str], read_only: bool | None = None, limit: int = 10, offset: int = 0
    ) -> tuple[list[Function], int]:
        """Functions that fit the words, best first, and how many fit altogether. No words: all of them. `tag:NAME` in the
        query leaves those with that tag (`tag:pull*` or `tag:"two words"` work; several must all fit)."""
        question = read_question(query)
        facts = [access_fact(read_only)] if read_only is not None else []
        only = [f'"{fact}"' for fact in facts] + [f'"{tag_fact(tag)}"{"*" if tag.endswith("*") else ""}' for tag in question.tags]
        stored = self.servers()
        asked = tuple(sorted(stored.intersection(servers)))
        many = bool(question.concepts) and len(asked) > FEW_SERVERS
        if len(asked) < len(stored) and not many:
            only.append("(" + " OR ".join(f'"{server_fact(s)}"' for s in asked or [""]) + ")")
        expression = f"facts : ({' AND '.join(only)})" if only else ""
        if question.concepts:
            rows = self._ids(asked) if many and len(asked) < len(stored) else None
            ranking = Ranking(self._db, self._words(asked), question, expression, rows)
            ids, total = ranking.page(limit, offset, self._called(query.strip()))
        else:
            ids, total = self._listed(expression, limit, offset)
        # The records of those alone: they are large, and sorting them all would read them all.
        found = [self._db.execute("SELECT server, name, record FROM functions WHERE id = ?", [i]).fetchone() for i in ids]
        return [restored(*row) for row in found if row and row[0] in asked], total  # ids may mean others since another process compiled

    def _called(self, query: str) -> set[int]:
        """The functions whose very name or original id this is."""
        if not query or len(query) > 200 or len(query.split()) > 1:
            return set()
        bare = query.rpartition(".")[2] or query
        names = [plain(name) for name in (query, bare, python_name(bare))]
        by_name = "SELECT id FROM functions WHERE name IN (?, ?, ?) UNION SELECT id FROM functions WHERE original IN (?, ?, ?)"
        return {i for (i,) in self._db.execute(by_name, [*names, *names])}

    def _listed(self, only: str, limit: int, offset: int) -> tuple[list[int], int]:
        where, values = ("WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?)", [only]) if only else ("", [])
        total = self._db.execute(f"SELECT count(*) FROM functions {where}", values).fetchone()[0]  # noqa: S608
        listed = f"SELECT id FROM functions {where} ORDER BY server, id LIMIT ? OFFSET ?"  # noqa: S608
        return [i for (i,) in self._db.execute(listed, [*values, limit, offset])], total

    def servers(self) -> set[str]:
        """Those that have a compile."""
        return {name for (name,) in self._db.execute("SELECT name FROM servers")}

    def _read_ids(self, servers: tuple[str, ...]) -> frozenset[int]:
        return frozenset(i for (i,) in self._db.execute(f"SELECT id FROM functions WHERE server {_AMONG}", [as_json(servers)]))  # noqa: S608

    def _read_words(self, servers: tuple[str, ...]) -> Words:
        counts: Counter[str] = Counter()
        functions = 0
        of_servers = f"SELECT json_extract(report, '$.functions'), words FROM servers WHERE name {_AMONG}"  # noqa: S608
        for number, words in self._db.execute(of_servers, [as_json(servers)]):
            counts.update(from_json(words))
            functions += number
        return Words(counts, functions, {word for server in servers for word in stems(server, 6)}, self._doing)

    # Writing

    def store(
        self, server: str, compiled: Compiled, *, fingerprint: str, settings: str, ms: float, scrub: Callable[[str], str] = str
    ) -> Report:
        """Replace everything of a server in one transaction: a reader sees the old or the new, a kill leaves the old.
        Every text passes `scrub`: a document may hold what it was fetched with."""
        report = Report(
            server, len(compiled.functions), [asdict(s) for s in compiled.skipped], list(compiled.warnings), ms,
            compiled.description, fingerprint, settings, time.time(), compiled.closed, [asdict(s) for s in compiled.auth],
        )  # fmt: skip
        functions = [scrubbed(f, scrub) for f in compiled.functions]
        documents = [document(f) for f, _ in functions]
        words = Counter(word for texts in documents for word in set(" ".join(texts[SAID]).split()))
        db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            db.execute("BEGIN IMMEDIATE")  # other servers and processes write too: wait for the turn now, not in the middle
            _forget(db, server)
            first = db.execute("SELECT coalesce(max(id), 0) + 1 FROM functions").fetchone()[0]
            db.executemany(
                "INSERT INTO functions VALUES (?, ?, ?, ?, ?, ?)",
                ((i, server, f.name, f.id, f.read_only, record) for i, (f, record) in enumerate(functions, first)),
            )
            columns = ", ".join(FIELDS)
            db.executemany(
                f"INSERT INTO search (rowid, {columns}) VALUES (?{', ?' * len(FIELDS)})",  # noqa: S608
                ((i, *texts) for i, texts in enumerate(documents, first)),
            )
            db.executemany(
                "INSERT INTO definitions VALUES (?, ?, ?)",
                ((server, n, scrub(as_json(s))) for n, s in {scrub(n): s for n, s in compiled.definitions.items()}.items()),
            )
            known = dict(words.most_common(MOST_WORDS))
            db.execute("INSERT INTO servers VALUES (?, ?, ?)", (server, scrub(as_json(asdict(report))), as_json(known)))
            forget_changed(db, server, [f for f, _ in functions])
            db.execute("COMMIT")
        finally:
            db.close()  # what is not committed is undone
        return report

    def drop(self, servers: Iterable[str]) -> None:
        """Forget servers that are configured no more."""
        for server in servers:
            with self._db:
                self._db.execute("BEGIN")
                _forget(self._db, server)
                forget_changed(self._db, server, [])


def _forget(db: sqlite3.Connection, server: str) -> None:
    db.execute("UPDATE compiles SET number = number + 1")
    db.execute("DELETE FROM search WHERE rowid IN (SELECT id FROM functions WHERE server = ?)", [server])
    for table, column in (("functions", "server"), ("definitions", "server"), ("servers", "name")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", [server])  # noqa: S608
