"""One principal's part of one budget, as this process knows it.

It takes a share of what is left for all processes, and spends that without asking again: a call costs a statement only
once in a while. What is not spent is given back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import anyio
from doorward import DoorwardError, LimitExceeded
from doorward.values import to_its_end

from doorward_budgets.counters import Counters
from doorward_budgets.settings import UNITS, BudgetSettings

PERIODS = {"hour": 3600, "day": 86400}


def name_of(budget: BudgetSettings) -> str:
    """What a budget is counted as. One that is moved in the configuration goes on with it."""
    return f"{budget.principal} {budget.server} {budget.per}"


class Account:
    """What a principal may use of a budget, `place` in the configuration."""

    def __init__(
        self,
        budget: BudgetSettings,
        place: str,
        principal: str,
        counters: Counters,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._budget, self._place, self._principal, self._counters = budget, place, principal, counters
        self._clock = clock
        self._limits = {unit: float(limit) for unit in UNITS if (limit := getattr(budget, unit)) is not None}
        self._seconds = PERIODS[budget.per]
        self._period = -1
        self._left: dict[str, float] = {}
        self._lock: anyio.Lock | None = None

    def fits(self, needed: Mapping[str, float]) -> bool:
        """Spend what is needed, if this process holds as much."""
        period = int(self._clock() // self._seconds)
        if period != self._period:
            self._period, self._left = period, dict.fromkeys(self._limits, 0.0)
        if any(self._left[unit] < amount for unit, amount in needed.items() if unit in self._left):
            return False
        self.spend(needed)
        return True

    def spend(self, amounts: Mapping[str, float]) -> None:
        """Count what was used, known or not before."""
        for unit, amount in amounts.items():
            if unit in self._left:
                self._left[unit] -= amount

    async def take(self, needed: Mapping[str, float]) -> None:
        """Take more of the budget, and spend what is needed. Raises: LimitExceeded; StateError if nobody can count."""
        if self._lock is None:
            self._lock = anyio.Lock()
        async with self._lock:
            while not self.fits(needed):
                unit = next(u for u, amount in needed.items() if u in self._left and self._left[u] < amount)
                await to_its_end(self._more(unit, needed[unit]))  # what was taken must not be lost

    async def _more(self, unit: str, least: float) -> None:
        held, self._left[unit], period = self._left[unit], 0.0, self._period
        try:
            taken = await self._counters.take(
                name_of(self._budget), self._principal, unit,
                period=period, limit=self._limits[unit], least=least, held=held,
            )  # fmt: skip
        except DoorwardError:
            self._again({unit: held}, period)
            raise
        self._again({unit: taken}, period)
        if not taken and period == self._period:
            raise self._used_up(unit)

    async def give_back(self) -> None:
        """Give back what is not spent, and count what was spent beyond. What cannot be counted now is kept for the next
        time. Raises: StateError."""
        held, period = {unit: amount for unit, amount in self._left.items() if amount}, self._period
        if held:
            self._left = dict.fromkeys(self._limits, 0.0)
            await to_its_end(self._give(held, period))

    async def _give(self, held: Mapping[str, float], period: int) -> None:
        back = {unit: -amount for unit, amount in held.items()}
        try:
            await self._counters.add(name_of(self._budget), self._principal, back, period)
        except DoorwardError:
            self._again(held, period)
            raise

    def _again(self, amounts: Mapping[str, float], period: int) -> None:
        """Hold these amounts, unless their period is over meanwhile."""
        if period == self._period:
            for unit, amount in amounts.items():
                self._left[unit] += amount

    def _used_up(self, unit: str) -> LimitExceeded:
        renewed = (self._period + 1) * self._seconds
        at, minutes = datetime.fromtimestamp(renewed, UTC), (renewed - self._clock()) / 60
        limit = f"{self._limits[unit]:,.10g} {unit}" if unit != "cost" else f"a cost of {self._limits[unit]:,.10g}"
        of = "" if self._budget.server == "*" else f" of {self._budget.server}"
        return LimitExceeded(
            f"the budget of {self._principal!r} is used up: {limit}{of} {'an' if self._budget.per == 'hour' else 'a'} "
            f"{self._budget.per}",
            hint=f"It is renewed at {at:%H:%M} UTC, in {minutes:.0f} minutes. The operator sets it: {self._place}.",
        )
