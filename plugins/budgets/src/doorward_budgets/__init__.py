"""Budgets of `[[budgets]]`: how much each principal may use in an hour or a day, counted for all processes."""

from __future__ import annotations

from doorward_budgets.budgets import Budgets as Budgets
from doorward_budgets.settings import BudgetSettings as BudgetSettings
from doorward_budgets.used_budgets import USED_BUDGETS as USED_BUDGETS
from doorward_budgets.used_budgets import UsedBudgets as UsedBudgets

__all__ = ["USED_BUDGETS", "BudgetSettings", "Budgets", "UsedBudgets"]
