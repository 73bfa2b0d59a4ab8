"""Plans: the writes that a program would make, withheld until they are committed together."""

from __future__ import annotations

from doorward_durable_runs.plans.commits import PLANS as PLANS
from doorward_durable_runs.plans.commits import Plans as Plans
from doorward_durable_runs.plans.planning import Planning as Planning

__all__ = ["PLANS", "Planning", "Plans"]
