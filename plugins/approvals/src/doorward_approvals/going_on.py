"""How a run goes on, once a person has answered what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from doorward import DoorwardError

if TYPE_CHECKING:
    from doorward_cli import Project

    from doorward_approvals.request import ApprovalRequest


def next_step(project: Project, request: ApprovalRequest, more: int) -> str:
    """What whoever has answered a request tells others, or does. `more` requests of its run are still open."""
    run = request.run
    if more:
        return f"{more} more of run {run} wait for an answer: doorward approvals show --run {run}"
    state = _state(project, run)
    if request.kind == "plan" and state != "ended":
        return f'the agent calls commit_plan("{run}") once more, or an operator: doorward runs commit {run}'
    if state in ("waiting", "interrupted", "died"):
        return f'the agent calls resume_run("{run}"), or an operator: doorward runs resume {run}'
    if state == "ended":
        return "nothing: that run is over"
    return "a client that waits goes on by itself; where none does, the same call is made again, and takes this answer"


def _state(project: Project, run: str) -> str:
    """What is stored of a run; empty if nothing is, or if it cannot be read."""
    from doorward_durable_runs import open_journals

    async def state() -> str:
        async with open_journals(project.load()) as journals:
            return (await journals.store.show(run)).state

    try:
        return anyio.run(state)
    except DoorwardError:
        return ""
