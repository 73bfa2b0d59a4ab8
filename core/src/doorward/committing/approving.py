"""One yes for all calls of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from doorward.calls.client_requests import RunClient
from doorward.data import marked_places
from doorward.data.values import plain
from doorward.model.calls import Call
from doorward.model.clock import Clock
from doorward.model.decisions import Decision
from doorward.model.functions import Function

if TYPE_CHECKING:
    from doorward.approvals.approvals import Approvals
    from doorward.config.plan_settings import PlanSettings
    from doorward.model.interaction import Client
    from doorward.model.outcomes import Awaited
    from doorward.model.programs import Program
    from doorward.plans.change_set import Change


class Waits(Exception):
    """Nobody has answered yet. `what` is awaited."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def is_to_be_asked(settings: PlanSettings, changes: Sequence[Change], decisions: Sequence[Decision]) -> Decision | None:
    """Why a person has to approve of a plan; `None` if nobody has to. What was decided when it was planned counts, and
    what is decided now."""
    of_writes = [(change.decision, now) for change, now in zip(changes, decisions, strict=True) if change.number > 0]
    asking = [decision for both in of_writes for decision in both if decision.then == "confirm"]
    if asking:
        return asking[0]
    return Decision("confirm", "[plans] approve", "every plan needs a person") if settings.approve == "always" else None


class Approving:
    """A commit, as approvals see it: it waits like a run, but there is no sandbox yet that would have to end."""

    session = ""
    possible = True

    def __init__(self, approvals: Approvals, program: Program, client: Client | None) -> None:
        self._approvals = approvals
        self.program, self.clock = program, Clock()
        self.client = RunClient(client, self.clock, program.limits.asking) if client else None
        self.awaited: list[tuple[Awaited, str]] = []

    @property
    def suspension(self) -> Approving:
        return self

    def spends(self, yes: str) -> bool:
        """See `AskingRun`. The yes to a plan is stored with it."""
        return True

    def possible_until(self, then: float) -> bool:
        """See `Suspends`."""
        return True

    async def wait(self, for_: Awaited, what: str, until: int = 0) -> NoReturn:
        """Give up for now. Raises: Waits."""
        raise Waits(what)

    async def approve(self, changes: Sequence[Change], decision: Decision) -> None:
        """Return once a person has approved of all changes. The yes is bound to the plan, its principal, and every
        function and argument of it.

        Raises: Refused if a person said no; Waits if nobody has answered.
        """
        destructive = any(change.effect == "destructive" for change in changes)
        function = Function("doorward", "commit_plan", "commit_plan", destructive=destructive)
        writes = [change for change in changes if change.number > 0]
        calls = [
            {"n": each.number, "function": each.function, "effect": each.effect} | _asking(each)
            | _arguments(each)
            for each in writes
        ]  # fmt: skip
        reads = [
            {"n": f"dependent read {-each.number}" if each.number else "read again", "function": each.function}
            | _asking(each) | _arguments(each)
            for each in changes
            if each.number <= 0
        ]  # fmt: skip
        shown = {"counts": dict(Counter(each.function for each in writes)), "calls": calls}
        shown |= {"reads": reads} if reads else {}
        call = Call(function, shown, self.program.run, self.program.principal)
        exact = repr([asdict(each) for each in changes])
        await self._approvals.confirm(self, call, decision, exact, kind="plan")


def _asking(change: Change) -> dict[str, str]:
    decision = change.decision
    return {"rule": decision.rule, "reason": decision.reason} if decision.then == "confirm" else {}


def _arguments(change: Change) -> dict[str, Any]:
    arguments, places = marked_places.shown(dict(change.arguments), change.files, plain)
    return {"arguments": arguments, **places}
