"""SQLite, by the standard library: opened read-only, and held there by an authorizer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import anyio
from doorward import ApiError, InvalidArguments, LimitExceeded, ServerError

from doorward_sql.model import MAX_ROW_BYTES, Column, Rows, Table

T = TypeVar("T")

_STEPS = 10_000
"""Steps of the database's machine between two looks at the clock."""
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
_NO_FUNCTIONS = ("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "zeroblob", "randomblob")


class SQLite:
    """A file."""

    dialect = "sqlite"

    def __init__(self, name: str, file: Path, tables: Sequence[Table] | None = None) -> None:
        """`tables` are those that may be read; `None`: all."""
        self._name, self._file = name, file
        self._tables_read = None if tables is None else {table.name.lower() for table in tables}
        self._views = {table.name.lower() for table in tables or () if table.view}

    async def warnings(self) -> list[str]:
        return []

    async def tables(self) -> list[Table]:
        return await self._asked(self._tables, 30.0)

    async def rows(
        self, statement: str, values: Sequence[Any] | Mapping[str, Any], most: int, seconds: float
    ) -> tuple[list[str], list[Sequence[Any]]]:
        def read(db: sqlite3.Connection) -> tuple[list[str], list[Sequence[Any]]]:
            db.set_authorizer(self._authorized)
            try:
                found = db.execute(statement, values)
            except (OverflowError, UnicodeEncodeError):
                raise InvalidArguments(f"{self._name}: a value is too large, or no text of Unicode") from None
            rows = Rows()
            for row in islice(found, most):
                rows.add(row)
            return [column[0] for column in found.description or ()], rows.all

        return await self._asked(read, seconds)

    async def _asked(self, ask: Callable[[sqlite3.Connection], T], seconds: float) -> T:
        """What a question in a thread answers. If it is cancelled, so is the database's work."""
        stopped = False

        def work() -> T:
            with self._open(time.monotonic() + seconds, lambda: stopped) as db:
                return ask(db)

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            stopped = True

    @contextmanager
    def _open(self, until: float, stopped: Callable[[], bool]) -> Iterator[sqlite3.Connection]:
        """Raises: ServerError, ApiError, LimitExceeded."""
        try:
            opened = sqlite3.connect(f"{self._file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
        except sqlite3.Error as error:
            raise ServerError(f"{self._name}: {self._file} cannot be opened: {error}") from None
        with closing(opened) as db:
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
            db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            db.set_progress_handler(lambda: stopped() or time.monotonic() > until, _STEPS)
            try:
                db.execute("PRAGMA query_only = ON")
                db.execute("PRAGMA trusted_schema = OFF")
                yield db
            except sqlite3.Error as error:
                if time.monotonic() > until:
                    raise LimitExceeded(f"{self._name}: the database took too long", hint="Ask for less.") from None
                if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
                    raise ServerError(f"{self._name}: {self._file} is no database") from None
                raise ApiError(f"{self._name}: {str(error)[:500]}", status=400) from None

    def _tables(self, db: sqlite3.Connection) -> list[Table]:
        found = db.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
        )
        made = []
        for name, kind in found.fetchall():
            quoted = '"' + name.replace('"', '""') + '"'
            columns = db.execute(f"PRAGMA table_info({quoted})").fetchall()
            keys = db.execute(f"PRAGMA foreign_key_list({quoted})").fetchall()
            made.append(
                Table(
                    name, view=kind == "view",
                    columns=[Column(c[1], str(c[2] or ""), nullable=not c[3] and not c[5]) for c in columns],
                    key=[c[1] for c in sorted((c for c in columns if c[5]), key=lambda c: c[5])],
                    refers=[f"{k[3]} → {k[2]}" + (f".{k[4]}" if k[4] else "") for k in keys],
                )
            )  # fmt: skip
        return made

    def _authorized(self, action: int, first: str | None, second: str | None, *where: str | None) -> int:
        """Whether a statement may do this: read what there is for agents, by itself or by a view, and compute."""
        if action == sqlite3.SQLITE_READ:
            return sqlite3.SQLITE_OK if self._may_read(str(first).lower(), second, *where) else sqlite3.SQLITE_DENY
        if action in _READING or (action == sqlite3.SQLITE_FUNCTION and second not in _NO_FUNCTIONS):
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _may_read(self, table: str, column: str | None, database: str | None, view: str | None) -> bool:
        """What WITH makes has no database, and none of its columns is reported."""
        if table.startswith("sqlite_"):
            return False
        if self._tables_read is None or table in self._tables_read or (not column and database is None):
            return True
        return view is not None and view.lower() in self._views
