"""The tool with which agents commit plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from doorward.model.agent_tools import AgentTool, ToolCaller
from doorward.model.outcomes import Outcome
from doorward.plugins.hookspecs import hookimpl

_DESCRIPTION = "Write what a plan withheld, after a person's yes if one is needed; nothing if what it read has changed."


class PlanTools:
    """Gives the tool."""

    @hookimpl
    def agent_tools(self) -> Sequence[AgentTool]:
        """See `doorward.plugins.hookspecs`."""
        return [AgentTool(commit_plan, "Commit plan", _DESCRIPTION, offered=_has_plans)]


async def commit_plan(caller: ToolCaller, plan: Annotated[str, "Its id"]) -> Outcome:
    """The outcome of the commit."""
    committed: Outcome = await caller.gateway.plans.commit(plan, principal=caller.principal, client=caller.client)
    return committed


def _has_plans(gateway: Any, principal: str) -> bool:
    return bool(gateway.plans.offered)
