"""The stored functions of all servers: compile into it, look up, search.

One SQLite file that is opened in constant time: nothing is read until it is asked for. Writing goes through
sqlite-utils, which is imported only then.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from doorward.search_words import match_expressions, split_words
from doorward.types import Compiled, Function, Schema
from doorward.values import dump, plain

VERSION = 1
"""Of the file's layout: another one is built anew."""

_STORED = [f for f in Function.__dataclass_fields__ if f not in ("server", "name")]
_SEARCHED = ["words", "summary", "description", "tags", "parameters"]
_WEIGHTS = "10.0, 6.0, 1.0, 2.0, 1.0"
"""Of name, summary, description, tags and route, parameters in bm25."""


FEW = 3000
"""Names that an unknown one is compared with, letter by letter."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a compile made of one server, as it stands in the catalog."""

    server: str
    functions: int
    skipped: Sequence[Mapping[str, str]] = ()
    warnings: Sequence[str] = ()
    ms: float = 0.0
    description: str = ""
    fingerprint: str = ""
    settings: str = ""
    compiled: float = 0.0


class Catalog:
    """The functions in a SQLite file. Readers see a compile of another process at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._db = self._open()
        self._seen = self.version()
        self.function = lru_cache(4096)(self._function)
        self.definition = lru_cache(4096)(self._definition)
        self.names = lru_cache(256)(self._names)

    def _open(self) -> sqlite3.Connection:
        """The database. A file that is none, or of another layout, is replaced: a catalog can be compiled again. One that
        is only locked is not."""
        for _ in range(3):
            if not self.path.exists():
                self._create()
            db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
            try:
                if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
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
        from sqlite_utils import Database

        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        db = Database(new)
        db.table("servers").create({"name": str, "report": str}, pk="name")
        db.table("definitions").create({"server": str, "name": str, "schema": str}, pk=("server", "name"))
        functions = db.table("functions").create(
            {"id": int, "server": str, "name": str, "original": str, "read_only": int, "record": str} | dict.fromkeys(_SEARCHED, str),
            pk="id",
        )
        functions.create_index(["server", "name"], unique=True)
        functions.create_index(["server", "original"])
        functions.enable_fts(_SEARCHED, tokenize="porter unicode61", create_triggers=True)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.close()
        new.chmod(0o600)
        with contextlib.suppress(FileExistsError):
            os.link(new, self.path)
        new.unlink()

    def close(self) -> None:
        self._db.close()

    # Reading

    def version(self) -> tuple[int, int]:
        """Another one after each change, by whatever process."""
        return self._db.execute("PRAGMA data_version").fetchone()[0], self._db.total_changes

    def refresh(self) -> bool:
        """Forget what was read if a compile has changed the file since. True if it has."""
        now = self.version()
        if now == self._seen:
            return False
        self._seen = now
        for cached in (self.function, self.definition, self.names):
            cached.cache_clear()
        return True

    def reports(self) -> dict[str, Report]:
        """The last compile of each server."""
        rows = self._db.execute("SELECT name, report FROM servers ORDER BY name")
        return {name: Report(**from_json(report)) for name, report in rows}

    def _function(self, server: str, name: str) -> Function | None:
        row = self._db.execute(
            "SELECT server, name, record FROM functions WHERE server = ?1 AND name = ?2 "
            "UNION ALL SELECT server, name, record FROM functions WHERE server = ?1 AND original = ?2 AND ?2 <> '' LIMIT 1",
            (server, name),
        ).fetchone()
        return _restore(*row) if row else None

    def _definition(self, server: str, name: str) -> Schema | None:
        row = self._db.execute("SELECT schema FROM definitions WHERE server = ? AND name = ?", (server, name)).fetchone()
        return from_json(row[0]) if row else None

    def _names(self, server: str) -> tuple[str, ...]:
        return tuple(r[0] for r in self._db.execute("SELECT name FROM functions WHERE server = ? ORDER BY id", (server,)))

    def functions(self, server: str) -> Iterable[Function]:
        """All functions of a server, in the order of its document."""
        for row in self._db.execute("SELECT server, name, record FROM functions WHERE server = ? ORDER BY id", (server,)):
            yield _restore(*row)

    def near(self, name: str, servers: Sequence[str], most: int = 5) -> list[str]:
        """Qualified names that look like this one, nearest first."""
        server, _, bare = name.rpartition(".")
        asked = [server] if server in servers else servers
        likely = [f.qualified for f in self.search(bare.replace("_", " "), servers=asked, limit=most)[0]]
        everything = [f"{s}.{n}" for s in asked for n in self.names(s)]
        if len(everything) > FEW:  # comparing with all of them would take too long
            everything = likely
        return difflib.get_close_matches(name, everything, n=most, cutoff=0.6) or likely

    def search(
        self, query: str, *, servers: Sequence[str], read_only: bool | None = None, limit: int = 10, offset: int = 0
    ) -> tuple[list[Function], int]:
        """Functions that fit the words, best first, and how many fit altogether. No words: all of them."""
        where, values = f"f.server IN ({','.join('?' * len(servers))})", list[Any](servers)
        if read_only is not None:
            where, values = f"{where} AND f.read_only = ?", [*values, int(read_only)]
        words = match_expressions(query)
        if words is None:
            table, stages = "functions f", [("", "f.server, f.id")]
            total = self._db.execute(f"SELECT count(*) FROM {table} WHERE {where}", values).fetchone()[0]  # noqa: S608
        else:
            # CROSS: the words decide first, or it is 100 times slower.
            table = "functions_fts CROSS JOIN functions f ON f.id = functions_fts.rowid"
            where, rank = f"functions_fts MATCH ? AND {where}", f"bm25(functions_fts, {_WEIGHTS}), f.id"
            plainest = f"length(f.words), {rank}"
            stages = [(words.words_in_name, plainest), (words.all_in_name, plainest), (words.all, rank), (words.any, rank)]
            total = self._db.execute(f"SELECT count(*) FROM {table} WHERE {where}", [words.any, *values]).fetchone()[0]  # noqa: S608
        found: dict[int, None] = {}
        for match, order in stages:
            if len(found) < offset + limit:
                given = [match, *values] if match else values
                sql = f"SELECT f.id FROM {table} WHERE {where} ORDER BY {order} LIMIT ?"  # noqa: S608
                found |= dict.fromkeys(row[0] for row in self._db.execute(sql, [*given, offset + limit]))
        # The records of those alone: they are large, and sorting them all would read them all.
        ids = list(found)[offset : offset + limit]
        rows = [self._db.execute("SELECT server, name, record FROM functions WHERE id = ?", [i]).fetchone() for i in ids]
        return [_restore(*row) for row in rows if row], total

    # Writing

    def store(
        self, server: str, compiled: Compiled, *, fingerprint: str, settings: str, ms: float, scrub: Callable[[str], str] = str
    ) -> Report:
        """Replace everything of a server in one transaction: a reader sees the old or the new, a kill leaves the old.
        Every text passes `scrub`: a document may hold what it was fetched with."""
        from sqlite_utils import Database

        report = Report(
            server, len(compiled.functions), [asdict(s) for s in compiled.skipped], list(compiled.warnings), ms,
            compiled.description, fingerprint, settings, time.time(),
        )  # fmt: skip
        db = Database(sqlite3.connect(self.path, timeout=60))
        try:
            db.execute("BEGIN IMMEDIATE")  # other servers and processes write too: wait for the turn now, not in the middle
            with db.conn:
                for table in ("functions", "definitions"):
                    db.execute(f"DELETE FROM {table} WHERE server = ?", [server])  # noqa: S608
                db.table("functions").insert_all((_scrubbed(_row(f), scrub) for f in compiled.functions), batch_size=500)
                db.table("definitions").insert_all(
                    (
                        {"server": server, "name": name, "schema": scrub(dump(plain(schema)).decode())}
                        for name, schema in compiled.definitions.items()
                    ),
                    batch_size=500,
                )
                db.table("servers").upsert({"name": server, "report": scrub(dump(plain(asdict(report))).decode())}, pk="name")
        finally:
            db.close()
        return report

    def drop(self, servers: Iterable[str]) -> None:
        """Forget servers that are configured no more."""
        for server in servers:
            with self._db:
                self._db.execute("BEGIN")
                for table, column in (("functions", "server"), ("definitions", "server"), ("servers", "name")):
                    self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", [server])  # noqa: S608


def _restore(server: str, name: str, record: str) -> Function:
    fields = from_json(record)
    return Function(server=server, name=name, **{**fields, "tags": tuple(fields["tags"])})


def _row(function: Function) -> dict[str, Any]:
    properties = function.parameters.get("properties", {})
    return {
        "server": function.server,
        "name": function.name,
        "original": function.id,
        "read_only": int(function.read_only),
        "record": dump(plain({f: getattr(function, f) for f in _STORED})).decode(),
        "words": split_words(f"{function.server} {function.name} {function.id}"),
        "summary": split_words(function.summary),
        "description": function.description[:2000],
        "tags": split_words(f"{' '.join(function.tags)} {function.route}"),
        "parameters": split_words(" ".join(properties)) + " " + _described(properties),
    }


def _scrubbed(row: Mapping[str, Any], scrub: Callable[[str], str]) -> dict[str, Any]:
    return {key: scrub(plain(value)) if isinstance(value, str) else value for key, value in row.items()}


def _described(properties: Mapping[str, Any]) -> str:
    return " ".join(str(p.get("description", ""))[:200] for p in list(properties.values())[:30] if isinstance(p, Mapping))
