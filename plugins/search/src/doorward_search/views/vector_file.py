"""The file of vectors in the state folder: what was embedded once is not embedded again, after a restart either."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from doorward import DoorwardError, log
from doorward.files import SqliteFile, SqliteLayout

if TYPE_CHECKING:
    from sqlite_utils import Database

T = TypeVar("T")

FILE = "search_views.db"

KEPT_DAYS = 30
"""Days for which a vector is kept that nobody uses: a function may come back, and so may a model."""

_WAIT_SECONDS = 5.0
"""Seconds to wait for another process that writes."""


def _table(db: Database) -> None:
    columns = {"view": str, "model": str, "text": bytes, "vector": bytes, "used": int}
    db.table("vectors").create(columns, pk=("view", "model", "text"), not_null=columns)


_MADE = """CREATE TABLE "vectors" (
   "view" TEXT NOT NULL,
   "model" TEXT NOT NULL,
   "text" BLOB NOT NULL,
   "vector" BLOB NOT NULL,
   "used" INTEGER NOT NULL,
   PRIMARY KEY ("view", "model", "text")
)"""

LAYOUT = SqliteLayout(
    (_table,), "SELECT count(*) FROM (SELECT 1 FROM vectors LIMIT 1)", application=0x56696577, made=_MADE
)
"""The application id is "View" in ASCII."""


class VectorFile:
    """Vectors by the names of views, the fingerprints of their models, and the digests of texts. All methods are for
    threads. A file that cannot be used costs time and no answer: everything is embedded again."""

    def __init__(self, state: Path) -> None:
        hint = "Functions are embedded again."
        self._file = SqliteFile(state / FILE, LAYOUT, event="search_vectors_put_aside", hint=hint)
        self._told = False

    def read(self, view: str, model: str) -> dict[bytes, bytes]:
        """All vectors of a view under a fingerprint, by the digests of their texts."""
        asked = "SELECT text, vector FROM vectors WHERE view = ? AND model = ?"
        rows: list[tuple[Any, Any]] = self._done(lambda db: db.execute(asked, (view, model)).fetchall()) or []
        lengths = {len(vector) if isinstance(vector, bytes) else 0 for _, vector in rows}
        fits = len(lengths) == 1 and all(length and length % 2 == 0 for length in lengths)
        return dict(rows) if fits else {}  # else somebody else has written there

    def keep(self, view: str, model: str, vectors: Iterable[tuple[bytes, bytes]]) -> None:
        rows = [(view, model, text, vector, _today()) for text, vector in vectors]
        self._done(lambda db: db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows))

    def used(self, view: str, model: str, texts: Collection[bytes]) -> None:
        """Note that these are in use, and remove what has not been for a while. Not at once: a catalog that is made
        anew has only some of its servers at first, and to embed may cost money."""
        today = _today()

        def work(db: sqlite3.Connection) -> None:
            asked = "SELECT text FROM vectors WHERE view = ? AND model = ? AND used < ?"
            older = [text for (text,) in db.execute(asked, (view, model, today)) if text in texts]
            rows = [(today, view, model, text) for text in older]
            db.executemany("UPDATE vectors SET used = ? WHERE view = ? AND model = ? AND text = ?", rows)
            db.execute("DELETE FROM vectors WHERE used < ?", (today - KEPT_DAYS,))

        self._done(work)

    def remove(self) -> list[str]:
        """Remove the file. Returns: what was there. Raises: ConfigError, OSError."""
        return [str(path) for path in self._file.remove()]

    def _done(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Work on the file, as a whole or not at all. `None` if it cannot be used; the log says so once."""
        try:
            with contextlib.closing(self._file.opened(_WAIT_SECONDS)) as db:
                db.execute("BEGIN IMMEDIATE")
                found = work(db)
                db.execute("COMMIT")  # closing an open transaction undoes it
            self._told = False
            return found
        except (sqlite3.Error, OSError, DoorwardError) as error:
            if not self._told:
                self._told = True
                said = error if isinstance(error, DoorwardError) else self._file.said(error)
                log.warning("search_vectors_not_kept", why=str(said), hint=said.hint)
            return None


def _today() -> int:
    """The day, as a number."""
    return int(time.time() // 86400)
