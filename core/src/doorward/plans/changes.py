"""What stands between the calls of a run and the world, where it is planned, or commits a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from doorward.data.planned import Planned
    from doorward.model.calls import Call
    from doorward.model.decisions import Decision
    from doorward.model.errors import DoorwardError


class PlannedRun(Protocol):
    """The run of a call. `RunContext` in the room `runs` is one."""

    def fail(self, error: DoorwardError) -> None:
        """End it with this error, whatever its program does about it."""
        ...

    def same_schema(self, function: str, schema_hash: str) -> str: ...


class Changes(Protocol):
    """Meets each call of a run once it is allowed, before it is made."""

    async def meet(self, run: PlannedRun, call: Call, sent: Call, decision: Decision) -> Planned | None:
        """Return once the call may be made: `None`; or what stands for its answer, if it is not to be made now. `sent`
        is the call with files in the place of their handles.

        Raises: DoorwardError if it must not be made.
        """
        ...

    def covers(self, call: Call, decision: Decision) -> bool:
        """Whether a person has approved already of this call, of which a rule says `confirm`, with the plan that it
        belongs to. Raises: Refused if it must not be made, whoever is asked."""
        ...

    def approved(self, call: Call, decision: Decision) -> None:
        """A person has approved of this call."""
        ...

    def yes(self, place: int) -> str:
        """What tells the yes to the call at this place from all others; "" if nobody was asked."""
        ...
