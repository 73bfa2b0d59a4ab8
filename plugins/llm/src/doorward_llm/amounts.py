"""What a request to a model takes of a quota."""

from __future__ import annotations

from typing import NamedTuple


class Amounts(NamedTuple):
    """What a request may take, or took."""

    rounds: int
    tokens: int
    cost: float

    def less(self, other: Amounts) -> Amounts:
        return Amounts(self.rounds - other.rounds, self.tokens - other.tokens, self.cost - other.cost)


NOTHING = Amounts(0, 0, 0.0)
