"""What each principal has used within 24 hours, by the hour, in a SQLite file that processes share and that outlives
them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from doorward import ConfigError, LimitExceeded
from doorward.files import SqliteFile, SqliteLayout

from doorward_llm.amounts import Amounts
from doorward_llm.settings import DailyQuota

if TYPE_CHECKING:
    from sqlite_utils import Database

WINDOW_HOURS = 24
BUSY_WAIT_SECONDS = 5.0
"""How long to wait for another process that is writing."""

_COLUMNS = {"principal": str, "hour": int, "rounds": int, "tokens": int, "cost": float}


def _make(tables: Database) -> None:
    tables.table("used").create(_COLUMNS, pk=("principal", "hour"))


_LAYOUT = SqliteLayout((_make,), "SELECT count(*) FROM used")
_SUM = "SELECT total(rounds), total(tokens), total(cost) FROM used WHERE principal = ? AND hour > ?"
_ADD = (
    "INSERT INTO used VALUES (:principal, :hour, :rounds, :tokens, :cost) ON CONFLICT (principal, hour) DO UPDATE SET"
    " rounds = rounds + excluded.rounds, tokens = tokens + excluded.tokens, cost = cost + excluded.cost"
)


class Daily:
    """The quotas of principals. What cannot be counted is not allowed."""

    def __init__(self, path: Path, quota: DailyQuota, *, clock: Callable[[], float] = time.time) -> None:
        self._quota = quota
        self._clock = clock
        self._path = path
        self._file = SqliteFile(path, _LAYOUT, event="llm_quota_begun_anew", hint="What was used today counts no more.")

    async def reserve(self, principal: str, most: Amounts) -> int:
        """Count what a request may take, if that is left. Returns: the hour in which it counts. Raises: LimitExceeded,
        ConfigError if the file cannot be used."""
        return await anyio.to_thread.run_sync(self._reserve, principal, most)

    async def settle(self, principal: str, hour: int, difference: Amounts) -> None:
        """Add the difference to what was reserved. Raises: ConfigError."""
        await anyio.to_thread.run_sync(self._settle, principal, hour, difference)

    def _reserve(self, principal: str, most: Amounts) -> int:
        hour = int(self._clock() // 3600)
        with self._transaction() as db:
            db.execute("DELETE FROM used WHERE hour <= ? OR hour > ?", (hour - WINDOW_HOURS, hour + WINDOW_HOURS))
            used = dict(zip(most._fields, db.execute(_SUM, (principal, hour - WINDOW_HOURS)).fetchone(), strict=True))
            for name, amount in most._asdict().items():
                allowed = getattr(self._quota, name)
                if allowed is not None and used[name] + amount > allowed:
                    left = max(0, allowed - used[name])
                    raise LimitExceeded(
                        f"you may use {allowed:,} {_UNITS[name]} of models within {WINDOW_HOURS} hours; {left:,g} are"
                        f" left, and this request may take {amount:,g}",
                        hint="Try again later. The operator sets this quota (`daily`).",
                    )
            db.execute(_ADD, {"principal": principal, "hour": hour, **most._asdict()})
        return hour

    def _settle(self, principal: str, hour: int, difference: Amounts) -> None:
        with self._transaction() as db:
            db.execute(_ADD, {"principal": principal, "hour": hour, **difference._asdict()})

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Raises: ConfigError if the file cannot be used."""
        from doorward.files import own_folder

        try:
            own_folder(self._path.parent)
            with self._file.transaction(BUSY_WAIT_SECONDS) as db:
                yield db
        except (sqlite3.Error, OSError) as error:
            hint = "No model is asked as long as nobody can count how often."
            raise ConfigError(f"the quotas cannot be used: {error}", place=str(self._path), hint=hint) from None


_UNITS = {"rounds": "requests", "tokens": "tokens", "cost": "dollars"}
