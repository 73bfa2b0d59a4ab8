"""Writing to the catalog's file: a server's compile in one transaction. All of it waits its turn, so it is for threads."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from doorward.catalog import file
from doorward.catalog.function_codec import Report, as_json, scrubbed
from doorward.catalog.schema_inference import forget_changed
from doorward.catalog.search.document import FIELDS, SAID, document
from doorward.data.clean_text import clean_compile
from doorward.model.errors import StateError
from doorward.model.types import Compiled

WRITE_WAIT = 20.0
"""Seconds that a compile waits for its turn to write. Nobody waits to read."""

MOST_WORDS = 50_000
"""Of a server that the search knows how common they are."""


class Writer:
    """What writes to the file at a path: it is made, or made anew, if need be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()

    def store(
        self, server: str, compiled: Compiled, *, fingerprint: str, settings: str, ms: float, scrub: Callable[[str], str] = str
    ) -> Report:
        """Replace everything of a server in one transaction: a reader sees the old or the new, a kill leaves the old.
        Every text is cleaned, whoever made it, and passes `scrub`: a document may hold what it was fetched with."""
        compiled = clean_compile(compiled)
        report = Report(
            server, len(compiled.functions), [asdict(s) for s in compiled.skipped], list(compiled.warnings), ms,
            compiled.description, fingerprint, settings, time.time(), compiled.closed, [asdict(s) for s in compiled.auth],
        )  # fmt: skip
        functions = [scrubbed(f, scrub) for f in compiled.functions]
        documents = [document(f) for f, _ in functions]
        words = Counter(word for texts in documents for word in set(" ".join(texts[SAID]).split()))

        def write(db: sqlite3.Connection) -> None:
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

        self._write(write)
        return report

    def drop(self, servers: Iterable[str]) -> None:
        """Forget servers that are configured no more. Raises: StateError, ConfigError."""

        def write(db: sqlite3.Connection) -> None:
            for server in servers:
                _forget(db, server)
                forget_changed(db, server, [])

        self._write(write)

    def _write(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Do it in one transaction; once more in a file made anew if it turns out to be broken. For threads.

        Raises: StateError if it is locked or the disk is full; ConfigError.
        """
        if not self._turn.acquire(timeout=WRITE_WAIT):
            raise StateError(f"{self.path}: others have been writing for {WRITE_WAIT:g} s", hint="Try again.")
        try:
            for again in (True, False):
                with contextlib.closing(file.opened(self.path, WRITE_WAIT)) as db:  # what is not committed is undone
                    which = file.place(self.path)
                    try:
                        db.execute("BEGIN IMMEDIATE")  # other servers and processes write too: wait for the turn now, not in the middle
                        write(db)
                        db.execute("COMMIT")
                        return
                    except sqlite3.Error as error:
                        if not (again and file.is_broken(error)):
                            raise file.said(self.path, error) from None
                        why = error
                file.put_aside(self.path, why, which)
        finally:
            self._turn.release()


def _forget(db: sqlite3.Connection, server: str) -> None:
    db.execute("UPDATE compiles SET number = number + 1")
    db.execute("DELETE FROM search WHERE rowid IN (SELECT id FROM functions WHERE server = ?)", [server])
    for table, column in (("functions", "server"), ("definitions", "server"), ("servers", "name")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", [server])  # noqa: S608
