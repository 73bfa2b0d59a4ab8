"""The stored functions of all servers: compile into it, look up, search.

One SQLite file that is opened in constant time: nothing is read until it is asked for. What reads here never waits.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic_core import from_json

from doorward.catalog import file
from doorward.catalog.function_codec import Report, as_json, restored
from doorward.catalog.search.document import access_fact, server_fact, tag_fact
from doorward.catalog.search.question import read as read_question
from doorward.catalog.search.ranking import Ranking, Words
from doorward.catalog.writer import Writer
from doorward.data.json_writing import digest
from doorward.data.values import plain
from doorward.data.words import stems
from doorward.describe.schemas import closure
from doorward.host.logs import log
from doorward.model.errors import StateError
from doorward.model.names import Named, python_name
from doorward.model.types import Function, Schema

T = TypeVar("T")

OPEN_WAIT = 2.0
"""Seconds to wait at the start for a file that is locked."""

FEW_SERVERS = 20
"""Servers that the index is asked for by their names; of more, it is asked for everything, and what is not theirs left out."""

_AMONG = "IN (SELECT value FROM json_each(?))"


class There(NamedTuple):
    """A catalog's file that could be read from: a connection, which file it is, and the last compile of each server in it."""

    db: sqlite3.Connection
    file: tuple[int, int] | None
    reports: Mapping[str, Report]


class Catalog:
    """The functions in a SQLite file. Readers see a compile of another process at once, and never wait for it.

    One that was removed is read from, as it was, until the one in its place has as much: `lost` says that there is something to do,
    `there` and `turn_to` do it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        writer = Writer(path)
        self.store, self.drop = writer.store, writer.drop
        self._broken = False
        self._touched = 0
        try:
            self._use(file.opened(path, OPEN_WAIT), file.place(path))
        except StateError as error:  # programs that need no functions run all the same
            log.warning("catalog_not_read", why=str(error), hint=error.hint)
            self._use(file.meanwhile(path), None)
        self._last: tuple[int, ...] = ()
        self._seen = self.version()
        self.report = lru_cache(4096)(self._report)
        self.function = lru_cache(4096)(self._function)
        self.definition = lru_cache(4096)(self._definition)
        self.names = lru_cache(256)(self._names)
        self.aliases = lru_cache(256)(self._aliases)
        self.first = lru_cache(1024)(self._first)
        self.promise = lru_cache(4096)(self._promise)
        self._words = lru_cache(64)(self._read_words)
        self._ids = lru_cache(64)(self._read_ids)
        self._cached = [kept for kept in vars(self).values() if hasattr(kept, "cache_clear")]
        self._doing: dict[str, frozenset[int]] = {}

    def close(self) -> None:
        self._db.close()

    # The file

    @property
    def lost(self) -> bool:
        """Whether what is at the path is not what is read: it was removed, replaced, emptied or broken."""
        return self._broken or self._file is None or file.place(self.path) != self._file

    def touched(self) -> bool:
        """Whether somebody has written to the file since this was asked last, in whatever way."""
        before, self._touched = self._touched, file.written(self.path)
        return before != self._touched

    def check(self) -> None:
        """Put the file aside if not all of it can be read. Raises: StateError, ConfigError."""
        file.check(self.path, OPEN_WAIT)

    def there(self) -> There:
        """What is at the path now, made anew if need be. For threads. Raises: StateError, ConfigError."""
        for _ in range(2):
            db = file.opened(self.path, OPEN_WAIT)
            which = file.place(self.path)
            try:
                return There(db, which, _reports(db.execute(_REPORTS).fetchall()))
            except (sqlite3.Error, ValueError, TypeError, LookupError) as error:
                db.close()
                if isinstance(error, sqlite3.Error) and not file.is_broken(error):
                    raise file.said(self.path, error) from None
                file.put_aside(self.path, error, which)
        raise StateError(f"{self.path}: cannot be made a catalog", hint="Is another program using that file?")

    def turn_to(self, there: There, servers: Collection[str]) -> bool:
        """Read from there from now on, if it has all of these servers that this one has."""
        with contextlib.suppress(StateError):  # what cannot be read is not lost
            if not self._broken and any(name in servers and name not in there.reports for name in self.reports()):
                there.db.close()
                return False
        self._db.close()
        self._use(there.db, there.file)
        self._broken = False
        return True

    def _use(self, db: sqlite3.Connection, file: tuple[int, int] | None) -> None:
        self._db, self._file = db, file
        db.execute("PRAGMA busy_timeout = 0")

    # Reading

    def version(self) -> tuple[int, ...]:
        """Another one after each compile, by whatever process, and when another file is read; as before while it cannot be read. What was
        observed of results is no compile: nobody needs to be told."""
        with contextlib.suppress(StateError):
            self._last = (*(self._file or (0, 0)), self._rows("SELECT number FROM compiles")[0][0])
        return self._last

    def refresh(self) -> bool:
        """Forget what was read if a compile has changed the file since. True if it has."""
        now = self.version()
        if now == self._seen:
            return False
        self._seen = now
        for cached in self._cached:
            cached.cache_clear()
        self._doing = {}
        return True

    def _rows(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """All rows of a statement that only reads. Raises: StateError, at once."""
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _read(self, make: Callable[..., T], *given: Any) -> T:
        """What is made of a text of ours. Raises: StateError if it is none."""
        try:
            return make(*given)
        except (ValueError, TypeError, LookupError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> StateError:
        if isinstance(error, sqlite3.Error) and not file.is_broken(error):
            return file.said(self.path, error)
        self._broken = True
        hint = "A gateway that serves compiles it again by itself: try again in a moment. `doorward compile` does it, too."
        return StateError(f"{self.path}: the catalog is broken", hint=hint)

    def reports(self) -> dict[str, Report]:
        """The last compile of each server."""
        return self._read(_reports, self._rows(_REPORTS))

    def _report(self, server: str) -> Report | None:
        """The last compile of one server."""
        rows = self._rows("SELECT report FROM servers WHERE name = ?", [server])
        return self._read(_made_report, rows[0][0]) if rows else None

    def settings(self) -> dict[str, str]:
        """The `settings` of the last compile of each server."""
        return dict(self._rows("SELECT name, json_extract(report, '$.settings') FROM servers"))

    def _function(self, server: str, name: str) -> Function | None:
        rows = self._rows(
            "SELECT server, name, record FROM functions WHERE server = :server AND name = :name "
            "UNION ALL SELECT server, name, record FROM functions WHERE server = :server AND original = :name AND :name <> '' LIMIT 1",
            {"server": server, "name": name},
        )
        if not rows and (meant := self.aliases(server).get(name)):
            return self.function(server, meant)
        return self._read(restored, *rows[0]) if rows else None

    def _aliases(self, server: str) -> Mapping[str, str]:
        """The names of functions by their further ones."""
        aliased = """SELECT json_extract(record, '$.aliases'), name FROM functions WHERE server = ? AND record LIKE '%"aliases":["%'"""
        return {alias: name for aliases, name in self._rows(aliased, [server]) for alias in self._read(from_json, aliases)}

    def _promise(self, server: str, name: str) -> str:
        """A hash of what callers of a function rely on, its schemas with all that they refer to; "" if there is none."""
        function = self.function(server, name)
        if function is None:
            return ""
        shapes = [function.parameters, function.returns]
        return digest(shapes, closure(shapes, lambda name: self.definition(server, name)))

    def _definition(self, server: str, name: str) -> Schema | None:
        rows = self._rows("SELECT schema FROM definitions WHERE server = ? AND name = ?", (server, name))
        return self._read(from_json, rows[0][0]) if rows else None

    def _names(self, server: str, column: Literal["name", "original"] = "name") -> tuple[str, ...]:
        return tuple(r[0] for r in self._rows(f"SELECT {column} FROM functions WHERE server = ? ORDER BY id", (server,)))  # noqa: S608

    def _first(self, server: str, most: int) -> tuple[str, ...]:
        """The names of a server's first functions."""
        return tuple(r[0] for r in self._rows("SELECT name FROM functions WHERE server = ? ORDER BY id LIMIT ?", (server, most)))

    def observation(self, server: str, name: str) -> tuple[str, str, int, float] | None:
        """What `Observed` keeps of a function: its digest then, the shape, how often, and when it was last seen."""
        columns = "SELECT digest, shape, times, last FROM observed WHERE server = ? AND name = ?"
        return next(iter(self._rows(columns, (server, name))), None)

    def functions(self, server: str) -> Iterable[Function]:
        """All functions of a server, in the order of its document."""
        for row in self._rows("SELECT server, name, record FROM functions WHERE server = ? ORDER BY id", (server,)):
            yield self._read(restored, *row)

    def named(self, server: str) -> Iterator[Named]:
        """The names of a server's functions, with what they were made of."""
        rows = self._rows("SELECT name, original, json_extract(record, '$.route') FROM functions WHERE server = ? ORDER BY id", (server,))
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
            among = self._ids(asked) if many and len(asked) < len(stored) else None
            ranking = Ranking(self._rows, self._words(asked), question, expression, among)
            ids, total = ranking.page(limit, offset, self._called(query.strip()))
        else:
            ids, total = self._listed(expression, limit, offset)
        # The records of those alone: they are large, and sorting them all would read them all.
        rows = [row for i in ids for row in self._rows("SELECT server, name, record FROM functions WHERE id = ?", [i])]
        # Ids may mean others since another process compiled.
        return [self._read(restored, *row) for row in rows if row[0] in asked], total

    def _called(self, query: str) -> set[int]:
        """The functions whose very name or original id this is."""
        if not query or len(query) > 200 or len(query.split()) > 1:
            return set()
        bare = query.rpartition(".")[2] or query
        names = [plain(name) for name in (query, bare, python_name(bare))]
        by_name = "SELECT id FROM functions WHERE name IN (?, ?, ?) UNION SELECT id FROM functions WHERE original IN (?, ?, ?)"
        return {i for (i,) in self._rows(by_name, [*names, *names])}

    def _listed(self, only: str, limit: int, offset: int) -> tuple[list[int], int]:
        where, values = ("WHERE id IN (SELECT rowid FROM search WHERE search MATCH ?)", [only]) if only else ("", [])
        total = self._rows(f"SELECT count(*) FROM functions {where}", values)[0][0]  # noqa: S608
        listed = f"SELECT id FROM functions {where} ORDER BY server, id LIMIT ? OFFSET ?"  # noqa: S608
        return [i for (i,) in self._rows(listed, [*values, limit, offset])], total

    def servers(self) -> set[str]:
        """Those that have a compile."""
        return {name for (name,) in self._rows("SELECT name FROM servers")}

    def _read_ids(self, servers: tuple[str, ...]) -> frozenset[int]:
        return frozenset(i for (i,) in self._rows(f"SELECT id FROM functions WHERE server {_AMONG}", [as_json(servers)]))  # noqa: S608

    def _read_words(self, servers: tuple[str, ...]) -> Words:
        counts: Counter[str] = Counter()
        functions = 0
        of_servers = f"SELECT json_extract(report, '$.functions'), words FROM servers WHERE name {_AMONG}"  # noqa: S608
        for number, words in self._rows(of_servers, [as_json(servers)]):
            counts.update(self._read(from_json, words))
            functions += number
        return Words(counts, functions, {word for server in servers for word in stems(server, 6)}, self._doing)


_REPORTS = "SELECT name, report FROM servers ORDER BY name"


def _reports(rows: Iterable[tuple[str, str]]) -> dict[str, Report]:
    return {name: _made_report(report) for name, report in rows}


def _made_report(text: str) -> Report:
    return Report(**from_json(text))
