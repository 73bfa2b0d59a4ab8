"""Counts what principals use, in a SQLite file that processes share: nobody takes what another one has taken."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorward.host.sqlite_file import SqliteFile
from doorward.host.sqlite_layout import SqliteLayout
from doorward.model.errors import ConfigError

if TYPE_CHECKING:
    from sqlite_utils import Database

SHARE = 1 / 20
"""Of what is left, a process takes this much at once: the others find little less than there is."""

WAIT_SECONDS = 5.0
"""How long to wait for another process that is writing."""

_MADE = """CREATE TABLE "used" (
   "budget" TEXT,
   "principal" TEXT,
   "unit" TEXT,
   "period" INTEGER,
   "amount" REAL,
   PRIMARY KEY ("budget", "principal", "unit")
)"""


def _table(db: Database) -> None:
    columns = {"budget": str, "principal": str, "unit": str, "period": int, "amount": float}
    db.table("used").create(columns, pk=("budget", "principal", "unit"))


LAYOUT = SqliteLayout((_table,), "SELECT count(*) FROM (SELECT 1 FROM used LIMIT 1)", made=_MADE)
_USED = "SELECT period, amount FROM used WHERE budget = ? AND principal = ? AND unit = ?"
_FORGET = "DELETE FROM used WHERE budget = ? AND principal = ? AND unit = ?"
_ADD = (
    "INSERT INTO used VALUES (?, ?, ?, ?, ?) ON CONFLICT (budget, principal, unit) DO UPDATE SET"
    " amount = CASE WHEN period = excluded.period THEN amount ELSE 0 END + excluded.amount, period = excluded.period"
    " WHERE period <= excluded.period"
)

_STARTS = "[limits] rate"
"""What stands there where the runs of a minute are counted, each second by itself."""

_WITHHELD = "withheld answers"
"""The same for the answers of a day that were withheld."""

WITHHELD_SECONDS = 86_400
"""A withheld answer counts for a day."""

_OLD = "DELETE FROM used WHERE budget = ? AND principal = ? AND NOT period BETWEEN ? AND ?"
_UNUSED_STARTS = "UPDATE used SET amount = amount - ? WHERE budget = ? AND principal = ? AND unit = ?"
_ALL = "SELECT period, amount FROM used WHERE budget = ? AND principal = ? AND amount > 0 ORDER BY period"


class Counter(NamedTuple):
    """What is counted: a unit (calls, bytes …) of what is used, `budget`, for one principal."""

    budget: str
    principal: str
    unit: str


class UsageFile:
    """All counters. One holds one period: that before it is forgotten."""

    def __init__(self, path: Path) -> None:
        hint = "What was used in this period is counted anew."
        self._file = SqliteFile(path, LAYOUT, event="usage_put_aside", hint=hint)
        self._path = path
        self._turns = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._which: tuple[int, int] | None = None
        self.withheld: dict[str, list[int]] = {}
        """When answers were withheld from principals, in seconds of the epoch, as of the last time somebody looked."""

    def take(self, counter: Counter, period: int, limit: float, least: float, held: float) -> float:
        """Give back what is `held` (less than nothing if more was used than was taken), and take at least `least`.
        Returns: what was taken; 0 if not as much is left.

        Raises: ConfigError if it cannot be counted.
        """
        with self._writing() as db:
            last, used = db.execute(_USED, counter).fetchone() or (period, 0.0)
            if last > period + 1:  # the clock was wrong then
                db.execute(_FORGET, counter)
            elif last > period:  # another process is in the next one already: this one is over
                return 0.0
            left = limit - (used if last == period else 0.0) + held
            amount = 0.0 if left < least else max(least, left * SHARE)
            if counter.unit in ("calls", "runs"):
                amount = float(int(amount))
            db.execute(_ADD, (*counter, period, amount - held))
            return amount

    def add(self, amounts: Mapping[Counter, float], period: int) -> None:
        """Count what was used beyond what was taken, all of it or nothing; less than nothing gives back.

        Raises: ConfigError.
        """
        with self._writing() as db:
            db.executemany(_ADD, [(*counter, period, amount) for counter, amount in amounts.items()])

    def start(self, principal: str, second: int, most: int, unused: tuple[int, int]) -> tuple[int, int]:
        """Take some of the `most` runs that a principal may start in a minute, to be started in this `second` of the
        epoch; and give back what is `unused` of those taken in another. Returns: how many were taken; and, if none
        were, in how many seconds there will be one.

        Raises: ConfigError if they cannot be counted.
        """
        with self._writing() as db:
            self._look_at_withheld(db, principal, second)
            db.execute(_OLD, (_STARTS, principal, second - 60, second + 1))
            if unused[1]:
                db.execute(_UNUSED_STARTS, (unused[1], _STARTS, principal, str(unused[0])))
            found = db.execute(_ALL, (_STARTS, principal)).fetchall()
            left = most - int(sum(amount for _, amount in found))
            if left < 1:
                return 0, max(1, found[0][0] + 61 - second)
            taken = max(1, int(left * SHARE))
            db.execute(_ADD, (_STARTS, principal, str(second), second, taken))
            return taken, 0

    def withhold(self, principal: str, second: int) -> None:
        """Count an answer that was withheld from a principal in this `second` of the epoch.

        Raises: ConfigError if it cannot be counted.
        """
        with self._writing() as db:
            db.execute(_ADD, (_WITHHELD, principal, str(second), second, 1))
            self._look_at_withheld(db, principal, second)

    def _look_at_withheld(self, db: sqlite3.Connection, principal: str, second: int) -> None:
        db.execute(_OLD, (_WITHHELD, principal, second - WITHHELD_SECONDS, second + 1))
        found = db.execute(_ALL, (_WITHHELD, principal)).fetchall()
        self.withheld[principal] = [period for period, count in found for _ in range(int(count))]
        if not found:
            del self.withheld[principal]

    def all(self) -> dict[Counter, tuple[int, float]]:
        """Each counter with its period, and what was used in it. Raises: ConfigError."""
        with self._told():
            if (db := self._file.found(WAIT_SECONDS)) is None:
                return {}
            with contextlib.closing(db):
                rows = db.execute("SELECT budget, principal, unit, period, amount FROM used").fetchall()
        return {Counter(*row[:3]): (row[3], row[4]) for row in rows}

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._told(), self._turns:
            db = self._opened()
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            except BaseException:
                self.close()
                raise

    def _opened(self) -> sqlite3.Connection:
        """The one connection, which stays open: whoever closes the last one has to write all of the log back. It is a
        new one if the file is another meanwhile."""
        if self._db is None or self._which != self._file.place():
            self.close()
            self._db = self._file.opened(WAIT_SECONDS)
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._which = self._file.place()
        return self._db

    def close(self) -> None:
        """Close the file, until it is used again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    __del__ = close

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            hint = "Nothing that is limited by what was used goes on as long as nobody can count it."
            raise ConfigError(f"what is used cannot be counted: {error}", place=str(self._path), hint=hint) from None
