"""The tool with which agents let stored runs go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from doorward.model.agent_tools import AgentTool, ToolCaller
from doorward.model.outcomes import Outcome
from doorward.plugins.hookspecs import hookimpl

_DESCRIPTION = "Let a run go on that waits or was cut off; no call is made twice. Without `run`: lists yours."


class RunTools:
    """Gives the tool."""

    @hookimpl
    def agent_tools(self) -> Sequence[AgentTool]:
        """See `doorward.plugins.hookspecs`."""
        return [AgentTool(resume_run, "Resume run", _DESCRIPTION, _DESCRIPTION, offered=_can_wait, resumes="run")]


async def resume_run(
    caller: ToolCaller, run: str = "", give_up: Annotated[bool, "End it instead: its program may run again"] = False
) -> Outcome:
    """The outcome of the run, or the runs that can go on."""
    runs, principal = caller.gateway.runs, caller.principal
    outcome: Outcome
    if not run:
        outcome = await runs.open(principal=principal)
    elif give_up:
        outcome = await runs.give_up(run, principal=principal)
    else:
        outcome = await runs.resume(run, principal=principal, client=caller.client)
    return outcome


def _can_wait(gateway: Any, principal: str) -> bool:
    return bool(gateway.runs.can_wait)
