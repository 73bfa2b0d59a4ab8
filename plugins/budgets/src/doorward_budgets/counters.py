"""Counts what principals use of their budgets, in a store of all processes: none takes what another one has taken."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from doorward.engines import Put, Store, scan_all, take_over, update

TABLE = "budgets"
"""The table with a record for each budget and principal: as JSON, a period, and the amounts used in it by unit."""

SHARE = 1 / 20
"""Of what is left, a process takes this much at once: the others find little less than there is."""

LASTS_SECONDS = 3 * 86400
"""How long a record stays: longer than any period, and than clocks differ."""

_EARLIER = "SELECT budget, principal, unit, period, amount FROM used WHERE budget NOT LIKE '[limits]%'"
_Amounts = tuple[int, dict[str, float]]


class Counters:
    """All counters of a store. A record holds one period: that before it is forgotten. `earlier` is the file in which
    versions before the store counted."""

    def __init__(self, store: Store, earlier: Path | None = None) -> None:
        self._store, self._earlier = store, earlier

    async def take(
        self, budget: str, principal: str, unit: str, *, period: int, limit: float, least: float, held: float
    ) -> float:
        """Give back what is `held` (less than nothing if more was used than was taken), and take at least `least`.
        Returns: what was taken; 0 if not as much is left.

        Raises: StateError if it cannot be counted.
        """

        def take(value: bytes | None) -> tuple[bytes | None, float]:
            last, used = _read(value, period)
            if last > period + 1:  # the clock was wrong then
                used = {}
            elif last > period:  # another process is in the next one already: this one is over
                return None, 0.0
            known = used if last == period else {}
            left = limit - known.get(unit, 0.0) + held
            amount = 0.0 if left < least else max(least, left * SHARE)
            if unit in ("calls", "runs"):
                amount = float(int(amount))
            return _written(period, {**known, unit: known.get(unit, 0.0) + amount - held}), amount

        await self._take_over()
        return await update(self._store, TABLE, _key(budget, principal), take, ttl=LASTS_SECONDS)

    async def add(self, budget: str, principal: str, amounts: Mapping[str, float], period: int) -> None:
        """Count what was used beyond what was taken, all of it or nothing; less than nothing gives back.

        Raises: StateError.
        """

        def add(value: bytes | None) -> tuple[bytes | None, None]:
            last, used = _read(value, period)
            if last > period:
                return None, None
            known = used if last == period else {}
            return _written(period, {**known, **{unit: known.get(unit, 0.0) + n for unit, n in amounts.items()}}), None

        await self._take_over()
        await update(self._store, TABLE, _key(budget, principal), add, ttl=LASTS_SECONDS)

    async def all(self) -> dict[tuple[str, str], _Amounts]:
        """For each budget and principal the period, and what was used in it by unit. Raises: StateError."""
        await self._take_over()
        found: dict[tuple[str, str], _Amounts] = {}
        for record in await scan_all(self._store, TABLE):
            budget, principal = json.loads(record.key)
            found[budget, principal] = _read(record.value, 0)
        return found

    async def _take_over(self) -> None:
        """Count what an earlier version has counted. Raises: StateError."""

        def changes(rows: Sequence[Any]) -> list[Put]:
            found: dict[str, dict[int, dict[str, float]]] = {}
            for budget, principal, unit, period, amount in rows:
                if budget != "withheld answers":
                    found.setdefault(_key(budget, principal), {}).setdefault(period, {})[unit] = amount
            latest = {key: max(periods.items()) for key, periods in found.items()}
            return [Put(TABLE, key, _written(*amounts), ttl=LASTS_SECONDS) for key, amounts in latest.items()]

        if self._earlier is not None:
            await take_over(self._store, self._earlier, _EARLIER, changes, whose=TABLE)
            self._earlier = None


def _key(budget: str, principal: str) -> str:
    return json.dumps([budget, principal])


def _read(value: bytes | None, period: int) -> _Amounts:
    """A period and its amounts; nothing of `period` if there is no record."""
    if value is None:
        return period, {}
    found = json.loads(value)
    return int(found["period"]), found["used"]


def _written(period: int, used: Mapping[str, float]) -> bytes:
    return json.dumps({"period": period, "used": used}).encode()
