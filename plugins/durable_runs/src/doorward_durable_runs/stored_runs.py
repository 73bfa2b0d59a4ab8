"""The stored runs of a gateway: those that wait go on, and all can be played again."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from doorward import LOCAL, DoorwardError, Outcome, Service, Wait
from doorward.recording import waiting_run as waiting
from doorward.values import to_its_end

from doorward_durable_runs.journal.journals import TooEarly

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorward import Client, Gateway, Program
    from doorward.recording import RecordedCall

    from doorward_durable_runs.journal.journals import Journals
    from doorward_durable_runs.journal.recorder import Journal
    from doorward_durable_runs.journal.replay import StoredJournal
    from doorward_durable_runs.storage.given import Given
    from doorward_durable_runs.storage.run_store import StoredRun


STORED_RUNS = Service["StoredRuns"]("what resumes stored runs", "doorward-durable-runs")


class StoredRuns:
    """Resumes runs of a gateway, and plays them again. `journals` has what is stored of them."""

    def __init__(self, journals: Journals, gateway: Gateway) -> None:
        self.journals, self._gateway = journals, gateway

    @property
    def can_wait(self) -> bool:
        """Whether runs may be there that can be resumed: agents are told how only then. They are where calls may have
        to wait, and after an end of `serve` that suspended them."""
        durable, layers = self.journals.settings.durable, self._gateway.broker.layers.all
        waits = durable == "always" or (durable == "waits" and any(layer.waits for _, layer in layers))
        return waits or self.journals.store.any()

    async def resume(self, run: str, *, principal: str | None = LOCAL, client: Client | None = None) -> Outcome:
        """Let a suspended run go on, or one whose process died: its program runs again and is fed the recorded answers,
        and only calls that were not made yet go out. `principal`: whose run it must be; `None` is the operator.

        Of a run that is over, the outcome is told once more: whoever asked may have lost it. One that waits for a time
        which has not come is not run: the answer says when."""
        try:
            if principal is not None:
                await self._gateway.admission.admit(principal)
            await self._gateway.ready()
            found = await to_its_end(self.journals.claim_or_outcome(run, principal), _let_go)
            if isinstance(found, Outcome):
                return found
            journal, given, stored = found
        except TooEarly as early:
            waits = [Wait("limit", each, early.stored.until) for each in early.stored.what]
            return Outcome(False, waiting=waiting(run, waits, self.journals.resuming(run)))
        except DoorwardError as error:
            return self._gateway.admission.refused(error, "", principal or LOCAL)
        try:
            program = await self.again(given, stored, principal)
        except BaseException as error:  # its files cannot be stored: it can be resumed another time
            await journal.close()
            if not isinstance(error, DoorwardError):
                raise
            return self._gateway.admission.refused(error, "", principal or LOCAL)
        known = {**self._gateway.languages.parameters(program.code, program.language), **program.params}
        outcome = await self._gateway.execution.run(program, known, None, client, journal)
        return without_plan(outcome) if journal.interceptor is not None else outcome

    async def open(self, *, principal: str = LOCAL) -> Outcome:
        """The runs of a principal that can be resumed, as the value of an outcome."""
        try:
            await self._gateway.admission.admit(principal)
        except DoorwardError as error:
            return self._gateway.admission.refused(error, "", principal)
        return Outcome(True, value=await self.journals.open(principal))

    async def give_up(self, run: str, *, principal: str = LOCAL) -> Outcome:
        """Let a run not go on any more, so that its program may be run again."""
        try:
            await self._gateway.admission.admit(principal)
            await to_its_end(self.journals.give_up(run, principal))
        except DoorwardError as error:
            return self._gateway.admission.refused(error, "", principal)
        return Outcome(True, value=f"the run {run} is given up; its program may be run again")

    async def replay(self, run: str, *, code: str | None = None) -> Outcome:
        """Run the program of a stored run again, or other `code`, on its recorded answers alone: nothing is sent. It is
        a run of its own to observers.

        Raises: UnknownName, StateError.
        """
        return await self._played(*await self.journals.replay(run, code))

    async def play(
        self, run: StoredRun, code: str | None, answered: Callable[[RecordedCall], None] = lambda call: None
    ) -> Outcome:
        """The same for a run with its frames, wherever they come from. `answered` gets each call that a recorded answer
        meets. Raises: StateError."""
        journal, given, stored = await self.journals.play(run, code)
        journal.answered = answered
        return await self._played(journal, given, stored)

    async def _played(self, journal: Journal, given: Given, stored: StoredJournal) -> Outcome:
        await self._gateway.ready()
        program = replace(await self.again(given, stored, None), run=secrets.token_hex(8))
        return await self._gateway.execution.run(program, None, None, None, journal)

    async def again(self, given: Given, stored: StoredJournal, principal: str | None) -> Program:
        """The program of a stored run, whose files are there again, for its `principal` as who asks now. One that
        commits a plan writes."""
        for kept, content, is_text in stored.files:
            about = kept.uri, content, kept.type, given.principal, kept.name
            await self._gateway.artefacts.restore(*about, is_text=is_text)
        program = given.program(self._gateway.limits)
        who = self._gateway.admission.known(given.principal if principal is None else principal)
        return replace(program, principal=who, plan=program.plan and not stored.committed)


async def _let_go(found: tuple[Journal, Given, StoredJournal] | Outcome) -> None:
    if not isinstance(found, Outcome):
        await found[0].close()


def without_plan(outcome: Outcome) -> Outcome:
    """The outcome of a commit: what runs its program again says that this time nothing is planned."""
    return replace(outcome, next=f"{outcome.next}  # writes at once, without a plan") if outcome.next else outcome
