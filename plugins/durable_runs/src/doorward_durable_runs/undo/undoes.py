"""Undoes stored runs of a gateway, for whoever offers that: a command, a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError
from doorward.values import in_a_line

from doorward_durable_runs.stored_runs import STORED_RUNS
from doorward_durable_runs.undo.steps import Steps
from doorward_durable_runs.undo.undoing import Undoing, Undone

if TYPE_CHECKING:
    from doorward import Function, Gateway


class Undoes:
    """What the configuration says how to undo. Who may ask for it is left to the caller."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def steps(self, run: str) -> dict[str, Any]:
        """What an undo would do: `{"run", "undo": [{"call", "made", "by", "arguments", "stands"}], "kept": [{"call",
        "made", "why"}]}`. Raises: UnknownName, StateError."""
        stored = await self._gateway.services[STORED_RUNS].journals.store.show(run)
        return steps_as_json(run, Steps.of(stored, self.known(stored.given.principal)))

    async def undo(self, run: str) -> dict[str, Any]:
        """Undo what a run wrote, the last write first, as its principal: policy, limits, approvals and audit hold as
        for all calls. The answer has what is `done` and `left`, too. Raises: UnknownName; StateError if it runs."""
        store = self._gateway.services[STORED_RUNS].journals.store
        whose = (await store.show(run)).given.principal
        undoing = await Undoing.of(store, run, self.known(whose))
        try:
            found = await undoing.undo(lambda name, given: self._gateway.call(name, given, principal=whose))
        finally:
            await undoing.close()
        return steps_as_json(run, undoing.all, found)

    def known(self, principal: str) -> Callable[[str], Function | None]:
        """Finds a function as a principal may call it."""
        return partial(_known, self._gateway, principal)


def steps_as_json(
    run: str, steps: Steps, found: Undone | None = None, error: Callable[[DoorwardError], Any] = in_a_line
) -> dict[str, Any]:
    """The steps of an undo, and what came of it, with its error as a text or as `error` says it."""
    done = found.done if found else ()
    told: dict[str, Any] = {
        "run": run,
        "undo": [
            {"call": each.place, "made": each.made, "by": each.call, "arguments": each.arguments}
            | {"stands": "undone" if each in done else each.stands}
            for each in steps.steps
        ],
        "kept": [{"call": each.place, "made": each.made, "why": each.why} for each in steps.kept],
    }
    if found is not None:
        told["done"] = [step.place for step in found.done]
        told["left"] = [step.place for step in found.left]
        if found.error is not None and found.failed is not None:
            told["failed"] = {"call": found.failed.place, "error": error(found.error)}
    return told


def _known(gate: Gateway, principal: str, name: str) -> Function | None:
    try:
        return gate.broker.functions.find(name, principal, near=False)
    except DoorwardError:
        return None
