"""What principals have used of their budgets, for whoever shows it: a command, a page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from doorward import Service

from doorward_budgets.settings import UNITS, BudgetSettings

if TYPE_CHECKING:
    from doorward_budgets.counters import Counters


class UsedBudgets:
    """The budgets of a configuration, and what was used of them by all processes."""

    def __init__(self, budgets: Sequence[BudgetSettings], counters: Counters) -> None:
        self._budgets, self._counters = budgets, counters

    async def rows(self, principal: str | None = None) -> list[dict[str, Any]]:
        """For each budget and principal `{"principal", "server", "per", "unit", "used", "limit", "renewed"}`; of a
        principal alone, if one is named. Raises: StateError."""
        from doorward_budgets.account import PERIODS, name_of

        used = await self._counters.all()
        rows: list[dict[str, Any]] = []
        for budget in self._budgets:
            seconds = PERIODS[budget.per]
            period = int(time.time() // seconds)
            then = datetime.fromtimestamp((period + 1) * seconds, UTC).isoformat(timespec="seconds")
            for unit in UNITS:
                if (limit := getattr(budget, unit)) is None:
                    continue
                known = {
                    who: amounts[unit]
                    for (name, who), (last, amounts) in used.items()
                    if last == period and name == name_of(budget) and unit in amounts
                }
                for who, amount in sorted(known.items()) or [("", 0.0)]:
                    if principal is None or who in ("", principal):
                        rows.append({
                            "principal": who or f"each of {budget.principal}", "server": budget.server,
                            "per": budget.per, "unit": unit, "used": round(amount, 6), "limit": float(limit),
                            "renewed": then,
                        })  # fmt: skip
        return rows


USED_BUDGETS = Service[UsedBudgets]("what is used of budgets", "doorward-budgets")
