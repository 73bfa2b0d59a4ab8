"""What each principal has used within 24 hours, by the hour, in the store that all processes share."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from doorward import LimitExceeded, StateError
from doorward.engines import Put, Store, take_over, update
from doorward.values import to_its_end

from doorward_llm.amounts import NOTHING, Amounts
from doorward_llm.settings import DailyQuota

T = TypeVar("T")

TABLE = "model use"
"""The table with a record for each server and principal: as JSON, the amounts used in each hour since the epoch."""

WINDOW_HOURS = 24

LASTS_SECONDS = 2 * WINDOW_HOURS * 3600
"""How long a record stays: longer than its hours count, and than clocks differ."""

_EARLIER = "SELECT principal, hour, rounds, tokens, cost FROM used"
_Hours = dict[int, Amounts]


class Daily:
    """The quotas of principals for one server. What cannot be counted is not allowed. `earlier` is the file in which
    versions before the store counted."""

    def __init__(
        self,
        store: Store,
        server: str,
        quota: DailyQuota,
        *,
        earlier: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._server, self._quota = store, server, quota
        self._earlier, self._clock = earlier, clock

    async def reserve(self, principal: str, most: Amounts) -> int:
        """Count what a request may take, if that is left. Returns: the hour in which it counts. Raises: LimitExceeded,
        StateError if it cannot be counted."""
        hour = int(self._clock() // 3600)

        def reserve(hours: _Hours) -> None:
            used = sum_of([amounts for at, amounts in hours.items() if at > hour - WINDOW_HOURS])
            for name, amount in most._asdict().items():
                allowed, before = getattr(self._quota, name), getattr(used, name)
                if allowed is not None and before + amount > allowed:
                    left = max(0, allowed - before)
                    raise LimitExceeded(
                        f"you may use {allowed:,} {_UNITS[name]} of models within {WINDOW_HOURS} hours; {left:,g} are"
                        f" left, and this request may take {amount:,g}",
                        hint="Try again later. The operator sets this quota (`daily`).",
                    )
            hours[hour] = sum_of([hours.get(hour, NOTHING), most])

        await self._change(principal, hour, reserve)
        return hour

    async def settle(self, principal: str, hour: int, difference: Amounts) -> None:
        """Add the difference to what was reserved. Raises: StateError."""

        def settle(hours: _Hours) -> None:
            hours[hour] = sum_of([hours.get(hour, NOTHING), difference])

        await self._change(principal, hour, settle)

    async def _change(self, principal: str, hour: int, change: Callable[[_Hours], None]) -> None:
        def changed(value: bytes | None) -> tuple[bytes, None]:
            known: _Hours = {int(at): Amounts(*amounts) for at, amounts in json.loads(value or b"{}").items()}
            hours = {at: amounts for at, amounts in known.items() if abs(at - hour) < WINDOW_HOURS}
            change(hours)
            return json.dumps(hours).encode(), None

        try:
            await self._take_over()
            await to_its_end(update(self._store, TABLE, self._key(principal), changed, ttl=LASTS_SECONDS))
        except StateError as error:
            hint = "No model is asked as long as nobody can count how often."
            raise StateError(f"the quotas cannot be used: {error.message}", hint=hint) from None

    async def _take_over(self) -> None:
        """Count what an earlier version has counted."""

        def changes(rows: Sequence[Any]) -> list[Put]:
            found: dict[str, _Hours] = {}
            for principal, hour, *amounts in rows:
                found.setdefault(principal, {})[hour] = Amounts(*amounts)
            return [
                Put(TABLE, self._key(principal), json.dumps(hours).encode(), ttl=LASTS_SECONDS)
                for principal, hours in found.items()
            ]

        if self._earlier is not None:
            await take_over(self._store, self._earlier, _EARLIER, changes, whose=f"{TABLE} {self._earlier.parent}")
            self._earlier = None

    def _key(self, principal: str) -> str:
        return json.dumps([self._server, principal])


def sum_of(amounts: Sequence[Amounts]) -> Amounts:
    return Amounts(*(sum(each) for each in zip(NOTHING, *amounts, strict=True)))


_UNITS = {"rounds": "requests", "tokens": "tokens", "cost": "dollars"}
