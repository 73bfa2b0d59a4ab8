"""Budgets are layers like any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward import Call
from doorward_budgets import Budgets, BudgetSettings
from doorward_testing import LayerConformance, call_of


class TestConformance(LayerConformance):
    """What holds for every layer: a call and a run pass, the second of each is refused."""

    plugin = Budgets

    def owned(self) -> Mapping[str, tuple[Any, Any]]:
        return {"budgets": (list[BudgetSettings], [{"calls": 1}, {"server": "*", "per": "hour", "runs": 1}])}

    def passed(self) -> Sequence[Call | str]:
        return [call_of("notes.find"), "1 + 1"]

    def refused(self) -> Sequence[Call | str]:
        return self.passed()
