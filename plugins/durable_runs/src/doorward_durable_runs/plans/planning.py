"""The plugin that withholds the writes of programs, and commits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import PluginContext, hookimpl
from doorward.recording import WITHHOLDS

from doorward_durable_runs.plans.agent_tools import TOOL
from doorward_durable_runs.plans.commits import PLANS, Plans
from doorward_durable_runs.plans.outcome import PLAN, Plan
from doorward_durable_runs.plans.settings import PlanSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorward import AgentTool, Gateway


class Planning:
    """Gives `PLANS`, as `[plans]` says. Plans are stored runs."""

    def __init__(self, context: PluginContext) -> None:
        self._settings: PlanSettings = context.tables.get("plans") or PlanSettings()

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """See `doorward.plugins.hookspecs`."""
        plans = Plans(self._settings, gateway)
        gateway.services.give(WITHHOLDS, plans)
        gateway.services.give(PLANS, plans)
        gateway.outcome_parts[PLAN] = Plan

    @hookimpl
    def agent_tools(self) -> Sequence[AgentTool]:
        """See `doorward.plugins.hookspecs`."""
        return [TOOL]
