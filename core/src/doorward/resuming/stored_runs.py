"""The stored runs of a gateway: those that wait go on, and all can be played again."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from doorward.data.offload import thread_to_its_end
from doorward.journal.journals import TooEarly
from doorward.model.errors import DoorwardError
from doorward.model.outcomes import Outcome
from doorward.model.principals import LOCAL
from doorward.model.waits import Wait
from doorward.programs.parameters import parameters_if_readable
from doorward.runs.outcomes import waiting

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.config.run_settings import RunSettings
    from doorward.journal.journals import Journals
    from doorward.journal.recorder import Journal
    from doorward.journal.replay import StoredJournal
    from doorward.journal_files.given import Given
    from doorward.model.interaction import Client
    from doorward.model.limits import Limits
    from doorward.model.programs import Program
    from doorward.runs.admission import Admission
    from doorward.runs.execution import Execution


class StoredRuns:
    """Resumes runs, plays them again, and suspends those under way. `journals` has what is stored of them."""

    def __init__(
        self,
        journals: Journals,
        settings: RunSettings,
        limits: Limits,
        admission: Admission,
        execution: Execution,
        artefacts: Artefacts,
        ready: Callable[[], Awaitable[None]],
        *,
        asks: Callable[[], bool],
    ) -> None:
        self.journals = journals
        self._asks = asks
        self._settings, self._limits = settings, limits
        self._admission, self._execution, self._artefacts = admission, execution, artefacts
        self._ready = ready

    @property
    def can_wait(self) -> bool:
        """Whether runs may be there that can be resumed: agents are told how only then. They are where calls may have
        to wait, and after an end of `serve` that suspended them."""
        durable = self._settings.durable
        return durable == "always" or (durable == "waits" and self._asks()) or self.journals.store.any()

    async def resume(self, run: str, *, principal: str | None = LOCAL, client: Client | None = None) -> Outcome:
        """Let a suspended run go on, or one whose process died: its program runs again and is fed the recorded answers,
        and only calls that were not made yet go out. `principal`: whose run it must be; `None` is the operator.

        Of a run that is over, the outcome is told once more: whoever asked may have lost it. One that waits for a time
        which has not come is not run: the answer says when."""
        try:
            if principal is not None:
                await self._admission.admit(principal)
            await self._ready()
            found = await thread_to_its_end(self.journals.claim_or_outcome, run, principal, give_up=_let_go)
            if isinstance(found, Outcome):
                return found
            journal, given, stored = found
        except TooEarly as early:
            waits = [Wait("limit", each, early.stored.until) for each in early.stored.what]
            return Outcome(False, waiting=waiting(run, waits))
        except DoorwardError as error:
            return self._admission.refused(error, "", principal or LOCAL)
        program = self.again(given, stored, principal)
        known = {**parameters_if_readable(program.code, program.language), **program.params}
        return await self._execution.run(program, known, None, client, journal)

    async def open(self, *, principal: str = LOCAL) -> Outcome:
        """The runs of a principal that can be resumed, as the value of an outcome."""
        try:
            await self._admission.admit(principal)
        except DoorwardError as error:
            return self._admission.refused(error, "", principal)
        return Outcome(True, value=await to_thread.run_sync(self.journals.open, principal))

    async def give_up(self, run: str, *, principal: str = LOCAL) -> Outcome:
        """Let a run not go on any more, so that its program may be run again."""
        try:
            await self._admission.admit(principal)
            await thread_to_its_end(self.journals.give_up, run, principal)
        except DoorwardError as error:
            return self._admission.refused(error, "", principal)
        return Outcome(True, value=f"the run {run} is given up; its program may be run again")

    async def replay(self, run: str, *, code: str | None = None) -> Outcome:
        """Run the program of a stored run again, or other `code`, on its recorded answers alone: nothing is sent. It is
        a run of its own to observers.

        Raises: UnknownName, StateError.
        """
        await self._ready()
        journal, given, stored = await to_thread.run_sync(self.journals.replay, run, code)
        program = replace(self.again(given, stored, None), run=secrets.token_hex(8))
        return await self._execution.run(program, None, None, None, journal)

    def suspend(self, why: str) -> int:
        """Suspend the runs under way, once their calls in flight have ended: what they wait for is the next start.
        Returns: how many cannot be suspended."""
        return sum(not run.suspension.stop(why) for run in self._execution.under_way)

    def again(self, given: Given, stored: StoredJournal, principal: str | None) -> Program:
        """The program of a stored run, whose files are there again, for its `principal` as who asks now. One that
        commits a plan writes."""
        for kept, content, is_text in stored.files:
            self._artefacts.restore(kept.uri, content, kept.type, given.principal, kept.name, is_text=is_text)
        program = given.program(self._limits)
        who = self._admission.known(given.principal if principal is None else principal)
        return replace(program, principal=who, plan=program.plan and not stored.committed)


def _let_go(found: tuple[Journal, Given, StoredJournal] | Outcome) -> None:
    if not isinstance(found, Outcome):
        found[0].close()
