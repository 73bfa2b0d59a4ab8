"""What a run has cost and used, and the budgets that it counted in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError
from doorward.serving import person_of

from doorward_console.panel import Question
from doorward_console.services import service

if TYPE_CHECKING:
    from doorward_budgets import UsedBudgets

_SECONDS = {"hour": 3600, "day": 86400}


def used_by_run(
    question: Question, servers: Iterable[str], usage: Mapping[str, Mapping[str, float]]
) -> list[dict[str, Any]]:
    """`{"server", "calls", "cost", "used"}` of each server: `servers` has one for each call that was made. The cost is
    its `price` for each call, and what its source says; `used` is what else that says, by name."""
    calls: dict[str, int] = {}
    for server in servers:
        calls[server] = calls.get(server, 0) + 1
    price, rows = question.gateway.servers.key_of, []
    for server in sorted({*calls, *usage}):
        amounts, count = dict(usage.get(server, {})), calls.get(server, 0)
        cost = amounts.pop("cost", 0.0) + count * (price(server, "price") or 0.0 if count else 0.0)
        rows.append({"server": server, "calls": count, "cost": round(cost, 6), "used": amounts})
    return rows


async def budgets_of_run(
    question: Question, principal: str, started: float, servers: Collection[str]
) -> list[dict[str, Any]]:
    """The budgets of the run's principal that it counted in and that were not renewed since, with all that is used of
    them, and the widths of bars."""
    used: UsedBudgets | None = service(question.gateway, "doorward_budgets:USED_BUDGETS")
    try:
        rows = await used.rows() if used is not None else []
    except DoorwardError:
        return []
    payers = (principal, str(person_of(principal)))
    return [
        {**row, "width": round(min(1.0, max(0.0, row["used"] / row["limit"])) * 1000, 1)}
        for row in rows
        if row["principal"] in payers
        and (row["unit"] == "runs" or any(_means(row["server"], server) for server in servers))
        and datetime.fromisoformat(row["renewed"]).timestamp() - _SECONDS[row["per"]] <= started
    ]


def _means(pattern: str, server: str) -> bool:
    """Whether a budget is for a server; of one for an account the page does not know whether it was used."""
    return "@" not in pattern and fnmatchcase(server, pattern.replace("-", "_"))
