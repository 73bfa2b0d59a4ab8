"""The tool with which agents let stored runs go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from doorward import AgentTool, Outcome, ToolCaller

from doorward_durable_runs.stored_runs import STORED_RUNS

if TYPE_CHECKING:
    from doorward import Gateway

_DESCRIPTION = "Let a run go on that waits or was cut off; no write is made twice. Without `run`: lists yours."


async def resume_run(
    caller: ToolCaller, run: str = "", give_up: Annotated[bool, "End it instead: its program may run again"] = False
) -> Outcome:
    """The outcome of the run, or the runs that can go on."""
    gateway: Gateway = caller.gateway
    runs, principal = gateway.services[STORED_RUNS], caller.principal
    if not run:
        outcome = await runs.open(principal=principal)
    elif give_up:
        outcome = await runs.give_up(run, principal=principal)
    else:
        outcome = await runs.resume(run, principal=principal, client=caller.client)
    return outcome


def _can_wait(gateway: Gateway, principal: str) -> bool:
    return gateway.services[STORED_RUNS].can_wait


TOOL = AgentTool(resume_run, "Resume run", _DESCRIPTION, _DESCRIPTION, offered=_can_wait, resumes="run")
"""The tool."""
