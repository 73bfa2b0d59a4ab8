"""Who has people asked for their approval, for those who need it besides a call: of all that a plan would write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from doorward import Service

if TYPE_CHECKING:
    from doorward import Call, Decision, Run


class AsksApproval(Protocol):
    """Has a person asked."""

    async def confirm(
        self, run: Run, call: Call, decision: Decision, exact: str, *, kind: Literal["call", "plan"] = "call"
    ) -> None:
        """Return once a person has approved of a call, or of the plan that it stands for; else the run waits. A yes is
        one to exactly this call, and to what `exact` says besides: the hash of a schema, all calls of a plan.

        Raises: Refused if a person denied it, or if nobody answered a run that cannot wait; StateError.
        """
        ...


APPROVALS = Service[AsksApproval]("who asks a person for approval")
