"""What asking a model may cost: one more is asked only if there is money for it, and as long as answers are of use."""

from __future__ import annotations

MAX_FAILURES_IN_A_ROW = 8
"""Asks that may fail one after another: the next would probably fail as well, and may cost something all the same."""


class Budget:
    """The money of one run: `most` in US dollars, `None` for as much as it takes. `stopped` says why nothing more is
    asked, whatever money is left."""

    def __init__(self, most: float | None) -> None:
        self._most = most
        self._dearest = 0.0
        self._under_way = 0
        self._failures = 0
        self.spent = 0.0
        self.stopped = ""

    def admit(self) -> bool:
        """Whether one more may be asked. Each that is under way counts like the dearest so far."""
        wanted = self.spent + (self._under_way + 1) * self._dearest
        if self.stopped or (self._most is not None and wanted > self._most):
            return False
        self._under_way += 1
        return True

    def paid(self, cost: float | None) -> None:
        """An answer came, and cost this much."""
        if cost is None and self._most is not None:
            self.stopped = "the model's price is not known, so no budget can hold: `--budget none` asks without one"
        self._settle(cost or 0.0)

    def lost(self) -> None:
        """No answer came. That may have cost as much as the dearest one."""
        self._settle(self._dearest)

    def judged(self, useful: bool) -> None:
        self._failures = 0 if useful else self._failures + 1
        if self._failures >= MAX_FAILURES_IN_A_ROW:
            self.stopped = f"{self._failures} asks failed one after another"

    @property
    def why_over(self) -> str:
        return self.stopped or ("" if self._most is None else f"the budget of {self._most:g} USD is spent")

    def _settle(self, cost: float) -> None:
        self._under_way -= 1
        self.spent += cost
        self._dearest = max(self._dearest, cost)
