"""The end of a run that was planned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from doorward.data.offload import thread_to_its_end
from doorward.model.errors import StateError
from doorward.plans.change_set import ChangeSet

if TYPE_CHECKING:
    from doorward.journal.recorder import Journal
    from doorward.model.outcomes import Outcome
    from doorward.runs.run_context import RunContext


async def planned(outcome: Outcome, run: RunContext, journal: Journal | None) -> Outcome:
    """Store a plan that is complete, so that it can be committed. Returns: the outcome, with its id."""
    if journal is None or outcome.waiting is not None:
        return outcome
    if journal.offline:
        return replace(outcome, plan=None)
    plan, found = outcome.plan, run.changes
    if not outcome.ok or plan is None or not plan.counts or not isinstance(found, ChangeSet):
        return journal.over(outcome)
    try:
        await thread_to_its_end(journal.plan, found.withheld)
    except StateError as error:
        return replace(outcome, notes=(*outcome.notes, error.message))
    id = run.program.run
    return replace(outcome, plan=replace(plan, id=id, next=f'commit_plan("{id}")'))
