"""`doorward runs commit`: carries out a plan."""

from __future__ import annotations

from functools import partial

import anyio
import click
from doorward_cli import Project, common, tell

from doorward_durable_runs.plans.commits import PLANS


@click.command()
@common
@click.argument("run")
def commit(project: Project, run: str) -> int:
    """Carry out RUN, which is a plan, as its principal: what it withheld is written, each call once and in order.

    Nothing is written if a person has to approve and has not (`doorward approvals`), or if what was read has changed.
    """
    return anyio.run(partial(_commit, project, run))


async def _commit(project: Project, run: str) -> int:
    async with project.gateway(project.load()) as gate:
        return tell(project, await gate.services[PLANS].commit(run, principal=None))
