"""`doorward budgets`: what principals have used of their budgets, and when these are renewed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import anyio
import click
from doorward.administration import open_store
from doorward_cli import Project, common, print_json, say, table

from doorward_budgets.account import PERIODS, name_of
from doorward_budgets.counters import Counters
from doorward_budgets.settings import UNITS


@click.command()
@common
@click.option("--principal", metavar="NAME", help="Of this principal alone.")
def budgets(project: Project, principal: str | None) -> None:
    """List the budgets: what each principal has used in this hour or day, of how much, and until when.

    A gateway that runs takes a little ahead of its calls; that counts as used until it gives it back.
    """
    loaded = project.load()

    async def read() -> Any:
        async with open_store(loaded) as store:
            return await Counters(store, loaded.state_folder() / "usage.db").all()

    used = anyio.run(read)
    rows: list[dict[str, Any]] = []
    for budget in getattr(loaded.config, "budgets", []):
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
                        "principal": who or f"each of {budget.principal}", "server": budget.server, "per": budget.per,
                        "unit": unit, "used": round(amount, 6), "limit": float(limit), "renewed": then,
                    })  # fmt: skip
    if project.json:
        print_json({"budgets": rows})
    elif not rows:
        say("the configuration has no [[budgets]]", err=True)
    else:
        table(["principal", "server", "used", "renewed"], [
            (each["principal"], each["server"], _used(each), each["renewed"]) for each in rows
        ])  # fmt: skip


def _used(row: dict[str, Any]) -> str:
    return f"{row['used']:,.10g} of {row['limit']:,.10g} {row['unit']} per {row['per']}"
