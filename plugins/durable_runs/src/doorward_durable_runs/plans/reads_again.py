"""The reads of a plan that are made again when it is committed, and those of which a person has to approve by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import Call, Decision, DoorwardError, Refused
from doorward.administration import bind_arguments as bind
from doorward.administration import dump_json as dump

from doorward_durable_runs.journal.entries import HELPERS
from doorward_durable_runs.plans.change_set import Change
from doorward_durable_runs.plans.reads import yes_to
from doorward_durable_runs.plans.unknown_values import has_unknown

if TYPE_CHECKING:
    from doorward import Gateway, Program

    from doorward_durable_runs.journal.entries import Entry
    from doorward_durable_runs.journal.replay import StoredJournal


class Reads:
    """Those of one plan. `again` are made again; of the `asking` among them, by the yes to each, a rule says `confirm`
    now and nobody has approved. What a person denied is not made again."""

    def __init__(self, gateway: Gateway, program: Program) -> None:
        self._gateway, self._program = gateway, program
        self.again: list[Entry] = []
        self.asking: dict[str, Change] = {}

    async def decide(self, said: StoredJournal) -> None:
        """Find out which reads are which."""
        for entry in said.entries:
            if not entry.ended or entry.change is not None or not _is_of_server(entry):
                continue
            decides = self._gateway.broker.permissions.policy.decides
            found = await self._decided(entry, len(self.again)) if decides else None
            if found is not None and found[0].then == "confirm" and (yes := yes_to(found[1], found[0])) not in said.yes:
                if isinstance(entry.error, Refused):
                    continue
                function, arguments = found[1].function.qualified, found[1].arguments
                self.asking[yes] = Change(function, "read", arguments, 0, entry.place, found[0])
            self.again.append(entry)

    async def _decided(self, entry: Entry, made: int) -> tuple[Decision, Call] | None:
        """What policy says of a read now; `None` if it is refused, as whoever makes it will be told."""
        assert entry.made is not None
        args, kwargs, link, _ = entry.made
        program = self._program
        try:
            function = self._gateway.broker.functions.find(entry.function, program.principal, near=False)
            bound = bind(function, args, kwargs, self._gateway.catalog, program.language, has_unknown)
            call = Call(function, bound, program.run, program.principal, link=link, earlier=made, size=len(dump(bound)))
            return await self._gateway.broker.permissions.decide(program, call), call
        except DoorwardError:
            return None


def _is_of_server(entry: Entry) -> bool:
    """Whether a call went to a server: what helpers say of the catalog is no state of the world."""
    return entry.made is not None and not entry.function.startswith(HELPERS)
