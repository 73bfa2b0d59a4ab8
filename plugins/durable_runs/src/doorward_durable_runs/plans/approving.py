"""One yes for all calls of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from doorward import Artefact, Call, Decision, Function, Refused, RunState, Wait
from doorward.administration import cut_value as cut
from doorward.administration import dump_json as dump
from doorward.administration import plain_value as plain
from doorward.recording import Clock, RunClient

from doorward_durable_runs.plans.change_set import grouped, planned_call

if TYPE_CHECKING:
    from doorward import Client, Program
    from doorward.searching import Catalog

    from doorward_durable_runs.asks_approval import AsksApproval
    from doorward_durable_runs.plans.change_set import Change
    from doorward_durable_runs.plans.outcome import PlannedCall
    from doorward_durable_runs.plans.settings import PlanSettings

_MAX_BYTES = 150_000
"""Of all calls of a plan, as they are kept to be shown: above it the arguments of each are cut. No call is left out."""


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
    goes_on = False

    def __init__(
        self,
        approvals: AsksApproval,
        program: Program,
        client: Client | None,
        find: Callable[[str], Function],
        catalog: Catalog,
    ) -> None:
        """`find` knows the functions of the plan, and the `catalog` their schemas."""
        self._approvals, self._find, self._catalog = approvals, find, catalog
        self.program, self.state, self._clock = program, RunState(), Clock()
        self.ask = RunClient(client, self._clock, program.limits.asking).ask if client else None

    def is_out(self, call: Call) -> bool:
        """See `Run`. A commit makes no call before it is approved of."""
        return False

    async def read_beside(self, call: Call, function: str, arguments: Mapping[str, Any]) -> Any:
        """See `Run`. A commit makes no call before it is approved of."""
        raise Refused(f"{function} is not called before the plan is approved of")

    def note(self, text: str, *, about: str = "") -> None:
        """See `Run`. It has no answer of its own."""

    def save_text(self, text: str) -> Artefact:
        """See `Run`. A commit saves nothing before it is approved of."""
        raise Refused("nothing is saved before the plan is approved of")

    def consume(self, id: str) -> bool:
        """See `Run`. The yes to a plan is stored with it."""
        return True

    def can_wait(self, until: float = 0.0) -> bool:
        """See `Run`."""
        return True

    async def wait(self, wait: Wait) -> NoReturn:
        """Give up for now. Raises: Waits."""
        raise Waits(wait.what)

    async def approve(self, changes: Sequence[Change], decision: Decision) -> None:
        """Return once a person has approved of all changes. The yes is bound to the plan, its principal, and every
        function and argument of it.

        Raises: Refused if a person said no; Waits if nobody has answered.
        """
        destructive = any(change.effect == "destructive" for change in changes)
        function = Function("doorward", "commit_plan", "commit_plan", destructive=destructive)
        shown = self._shown(changes, plain)
        if len(dump(shown)) > _MAX_BYTES:
            shown = self._shown(changes, partial(_cut, _MAX_BYTES // len(changes)))
        call = Call(function, shown, self.program.run, self.program.principal, clock=self._clock)
        exact = repr([asdict(each) for each in changes])
        await self._approvals.confirm(self, call, decision, exact, kind="plan")

    def _shown(self, changes: Sequence[Change], cut: Callable[[Any], Any]) -> dict[str, Any]:
        """All calls of a plan, as the agent was shown the first of them."""
        from doorward_durable_runs.documented_secrets import DocumentedSecrets

        documented: dict[str, DocumentedSecrets] = {}

        def shown(change: Change) -> PlannedCall:
            function, number = self._find(change.function), change.number
            if (secrets := documented.get(function.server)) is None:
                definition = partial(self._catalog.definition, function.server)
                secrets = documented[function.server] = DocumentedSecrets(definition)
            name = number if number > 0 else f"dependent read {-number}" if number else "read again"
            return planned_call(name, secrets.without(function, change.arguments), change.files, cut)

        counts = Counter(change.function for change in changes if change.number > 0)
        return {"counts": dict(counts), "changes": [asdict(each) for each in grouped(changes, shown)]}


def _cut(most: int, arguments: Any) -> Any:
    return cut(plain(arguments), most)
