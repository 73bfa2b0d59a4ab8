"""`doorward budgets`: what principals have used of their budgets, and when these are renewed."""

from __future__ import annotations

from typing import Any

import anyio
import click
from doorward.administration import open_store
from doorward_cli import Project, common, note, print_json, table

from doorward_budgets.counters import Counters
from doorward_budgets.used_budgets import UsedBudgets


@click.command()
@common
@click.option("--principal", metavar="NAME", help="Of this principal alone.")
def budgets(project: Project, principal: str | None) -> None:
    """List the budgets: what each principal has used in this hour or day, of how much, and until when.

    A gateway that runs takes a little ahead of its calls; that counts as used until it gives it back.
    """
    loaded = project.load()

    async def read() -> list[dict[str, Any]]:
        async with open_store(loaded) as store:
            counters = Counters(store, loaded.state_folder() / "usage.db")
            return await UsedBudgets(getattr(loaded.config, "budgets", []), counters).rows(principal)

    rows = anyio.run(read)
    if project.json:
        print_json({"budgets": rows})
    elif not rows:
        note("the configuration has no [[budgets]]")
    else:
        table(["principal", "server", "used", "renewed"], [
            (each["principal"], each["server"], _used(each), each["renewed"]) for each in rows
        ])  # fmt: skip


def _used(row: dict[str, Any]) -> str:
    return f"{row['used']:,.10g} of {row['limit']:,.10g} {row['unit']} per {row['per']}"
