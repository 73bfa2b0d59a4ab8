"""Who undoes stored runs, for those who offer that to people: a page."""

from __future__ import annotations

from typing import Any, Protocol

from doorward import Service


class UndoesRuns(Protocol):
    """Undoes what the configuration says how to undo. Who may ask for it is left to the caller."""

    async def steps(self, run: str) -> dict[str, Any]:
        """What an undo would do, as `doorward runs undo --dry-run --json` says it. Raises: UnknownName, StateError."""

    async def undo(self, run: str) -> dict[str, Any]:
        """Undo what a run wrote, the last write first, as its principal: policy, limits, approvals and audit hold as
        for all calls. The answer has what is `done` and `left`, too. Raises: UnknownName; StateError if it runs."""


UNDOES = Service[UndoesRuns]("what undoes runs", "doorward-durable-runs")
