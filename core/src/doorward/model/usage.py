"""What a run has used of a server besides calls: tokens of a model, rows of a warehouse, money."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

MAX_AMOUNTS = 20
"""Different amounts that one server can add to a run."""


class Usage:
    """The amounts that the calls of one run to one server have added up to, each with a name such as `tokens`.

    It is the server's own account of the run: a source that has a quota reads it before it does something, adds what
    that may take, and afterwards the difference to what it took. Nothing comes between two lines without `await`.
    """

    __slots__ = ("_amounts", "_counted")

    def __init__(self) -> None:
        self._amounts: dict[str, float] = {}
        self._counted: dict[str, float] = {}

    def of(self, name: str) -> float:
        """The amount with this name so far."""
        return self._amounts.get(name, 0)

    def add(self, name: str, amount: float) -> None:
        """Add to an amount; less than nothing takes back. Raises: ValueError if it is no number that has an end."""
        if not isfinite(amount):
            raise ValueError(f"{name}: {amount} is no amount")
        if name in self._amounts or len(self._amounts) < MAX_AMOUNTS:
            self._amounts[name] = self._amounts.get(name, 0) + amount

    def newly(self, name: str) -> float:
        """What was added to the amount with this name since this was asked last, for whoever keeps accounts. Nobody is
        paid for using something: a run takes nothing back that it did not add."""
        amount = max(self.of(name), 0)
        more = amount - self._counted.get(name, 0)
        if more:
            self._counted[name] = amount
        return more

    def amounts(self) -> Mapping[str, float]:
        """All amounts that are not zero; fractions have ten digits after the point."""
        if not self._amounts:  # asked after each call, of servers that count nothing
            return {}
        return {name: round(amount, 10) for name, amount in self._amounts.items() if round(amount, 10)}
