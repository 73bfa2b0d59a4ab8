"""The tool with which agents commit plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from doorward import AgentTool, Outcome, ToolCaller

from doorward_durable_runs.plans.commits import PLANS

if TYPE_CHECKING:
    from doorward import Gateway

_DESCRIPTION = "Write what a plan withheld, after a person's yes if one is needed; nothing if what it read has changed."


async def commit_plan(caller: ToolCaller, plan: Annotated[str, "Its id"]) -> Outcome:
    """The outcome of the commit."""
    gateway: Gateway = caller.gateway
    return await gateway.services[PLANS].commit(plan, principal=caller.principal, client=caller.client)


def _has_plans(gateway: Gateway, principal: str) -> bool:
    return gateway.services[PLANS].offered


TOOL = AgentTool(commit_plan, "Commit plan", _DESCRIPTION, offered=_has_plans)
"""The tool."""
