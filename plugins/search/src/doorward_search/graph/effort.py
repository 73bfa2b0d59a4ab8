"""A bound for what the documents of one server may cost, whatever they hold."""

from __future__ import annotations

MAX_STEPS = 500_000
"""Comparisons in each part of making a graph: about half a second. A server of 1200 functions takes 15,000."""


class Effort:
    """Steps that are left for one part of the work. What comes after the last one is not known."""

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> bool:
        """Pay for some steps. Returns: whether there were as many left."""
        self._left -= steps
        return self._left >= 0
