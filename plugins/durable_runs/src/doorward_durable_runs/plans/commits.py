"""The plans of a gateway: each is committed at most once, whole, and only while what it read is still so."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from doorward import (
    LOCAL,
    Call,
    Decision,
    DoorwardError,
    InvalidArguments,
    Outcome,
    Refused,
    Service,
    StateError,
    UnknownName,
    Unsupported,
)
from doorward.administration import dump_json as dump
from doorward.administration import run_in_thread as off_loop
from doorward.recording import Waiting
from doorward.recording import outcome_failure as failure
from doorward.values import to_its_end

from doorward_durable_runs.asks_approval import APPROVALS
from doorward_durable_runs.journal.errors import PlanOutdated
from doorward_durable_runs.plans.change_set import Change
from doorward_durable_runs.plans.outcome import PLAN, Plan
from doorward_durable_runs.stored_runs import STORED_RUNS, without_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from doorward import Client, Gateway, Program
    from doorward.recording import RunContext

    from doorward_durable_runs.journal.journals import Journals
    from doorward_durable_runs.journal.replay import StoredJournal
    from doorward_durable_runs.plans.change_set import ChangeSet
    from doorward_durable_runs.plans.reads_again import Reads
    from doorward_durable_runs.plans.settings import PlanSettings
    from doorward_durable_runs.storage.run_store import RunFile, StoredRun
    from doorward_durable_runs.stored_runs import StoredRuns


PLANS = Service["Plans"]("what commits plans", "doorward-durable-runs")


class Plans:
    """See above. Each plan is a stored run that waits to be committed. It is what withholds the writes of a run, too
    (`doorward.recording.Withholds`)."""

    def __init__(self, settings: PlanSettings, gateway: Gateway) -> None:
        self.settings, self._gateway = settings, gateway

    @property
    def _runs(self) -> StoredRuns:
        return self._gateway.services[STORED_RUNS]

    @property
    def _journals(self) -> Journals:
        return self._runs.journals

    @property
    def stored(self) -> bool:
        """Whether plans can be stored at all."""
        return self.settings.enabled and self._journals.settings.durable != "never"

    @property
    def offered(self) -> bool:
        """Whether programs can be planned here: agents are told how only then."""
        return self.stored and any(self._rank(name) < 2 for name in self._gateway.executors.names)

    @property
    def about(self) -> str:
        """See `Withholds.about`."""
        return "withholds writes and shows them" if self.offered else ""

    def instead(self, program: Program) -> str:
        """See `Withholds.instead`."""
        executors = self._gateway.executors
        able = (executors.may_run(name, program.language) and self._rank(name) < 2 for name in executors.names)
        if not self.stored or not any(able):
            return ""
        return 'a person is asked once for all that a program writes, if it is run with mode="plan"'

    def executors(self, names: Sequence[str]) -> Sequence[tuple[str, Unsupported | None]]:
        """See `Withholds.executors`: first those where a program can hand on what is not known yet."""
        ranked = sorted((self._rank(name), number, name) for number, name in enumerate(names))
        return [(name, None if rank < 2 else self._cannot_plan()) for rank, _, name in ranked]

    def _cannot_plan(self) -> Unsupported:
        """The error of an executor in which a program was to be planned, and cannot be."""
        executors = self._gateway.executors
        able = []
        for name in executors.names:
            with contextlib.suppress(DoorwardError):  # one that is broken is not named
                if self._rank(name) < 2:
                    able.append(f"{name} ({', '.join(executors.languages(name))})")
        return Unsupported(
            "it cannot plan",
            hint=f"Here plans are made by {' or '.join(able)}: write the program for that, or run it without a plan."
            if able
            else "A plan runs in full CPython (nsjail, docker): the operator can add one to `executor`.",
        )

    def _rank(self, name: str) -> int:
        """0 for an executor that can plan, or is broken, since trying tells why; 2 for one that cannot."""
        try:
            found = self._gateway.executors.capabilities(name)
        except DoorwardError:
            return 0
        return 0 if found.plans else 1 if found.plans_unread else 2

    def check(self, session: str) -> None:
        """Raises: InvalidArguments, Refused if a program cannot be planned."""
        if not self.stored:
            raise Refused(
                "programs cannot be planned here: the operator stores no plans",
                hint="Run it without a plan. ([plans] enabled and [runs] durable of the configuration say so.)",
            )
        if session:
            raise InvalidArguments(
                "a run in a session cannot be planned", hint="Plan a program that needs no session, without session_id."
            )

    def interceptor(self) -> ChangeSet:
        """What withholds the writes of a plan."""
        return self.change_set()

    def change_set(self, *, covered: Collection[str] = (), spent: bool = False) -> ChangeSet:
        """The same; see there for the reads that are `covered`, and for `spent`."""
        from doorward_durable_runs.plans.answers import Answers
        from doorward_durable_runs.plans.change_set import ChangeSet

        gateway = self._gateway
        lacks = Answers(gateway.catalog).lacks
        return ChangeSet(lacks, gateway.servers.effect_of, covered=covered, spent=spent)

    async def commit(self, plan: str, *, principal: str | None = LOCAL, client: Client | None = None) -> Outcome:
        """Carry out a plan: its program runs again on what it had read, and each write that was withheld goes out once,
        in order. Nothing is written if a person has to approve and has not, or if what was read has changed.

        `principal`: whose plan it must be; `None` is the operator.
        """
        from doorward_durable_runs.plans.approving import Waits
        from doorward_durable_runs.plans.reads_again import Reads

        async with contextlib.AsyncExitStack() as held:
            try:
                if principal is not None:
                    await self._gateway.admission.admit(principal)
                await self._gateway.ready()
                file, stored = await to_its_end(self._claimed(plan, principal), lambda claimed: claimed[0].close())
                held.push_async_callback(file.close)
                said = await off_loop(self._read, stored)
                self._check_unchanged(said, stored.given.principal)
                program = await self._runs.again(stored.given, said, principal)
                reads = Reads(self._gateway, program)
                await reads.decide(said)
                await self._let_through(program, said, reads, file, client)
                program = await self._runs.again(stored.given, said, principal)  # once a person has answered
                run = self._gateway.execution.context(program, client=client)
                inside = partial(self._carry_out, run, said, reads, file, stored, client, held)
                return await self._gateway.execution.around(run, inside)
            except Waits as waits:
                waiting = Waiting("approval", plan, (waits.what,), next=f'commit_plan("{plan}")')
                return Outcome(False, waiting=waiting)
            except DoorwardError as error:
                return self._gateway.admission.refused(error, "", principal or LOCAL)

    async def _carry_out(
        self,
        run: RunContext,
        said: StoredJournal,
        reads: Reads,
        file: RunFile,
        stored: StoredRun,
        client: Client | None,
        held: contextlib.AsyncExitStack,
    ) -> Outcome:
        """Make the reads of a plan again, and its writes if nothing differs; then its journal holds the file. Raises:
        DoorwardError."""
        from doorward_durable_runs.plans.reading_again import Reading

        reading = Reading(self._gateway, self.settings.ignore, self.change_set)
        if differs := await reading.differences(run, said, reads.again, client):
            await file.append([(b"G", {})])
            return _outdated(run.program.run, differs)
        program = replace(await self._runs.again(stored.given, said, run.program.principal), plan=False)  # begins now
        journal = await to_its_end(self._journals.commit(file, stored.given, said))
        held.pop_all()
        known = {**self._gateway.languages.parameters(program.code, program.language), **program.params}
        return without_plan(await self._gateway.execution.run(program, known, None, client, journal, whole=run))

    async def _claimed(self, plan: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        """Hold a stored plan. Raises: UnknownName, StateError."""
        try:
            return await self._journals.store.claim(plan, principal)
        except UnknownName:
            from doorward_durable_runs.plans.open_plans import open_plans

            hint = open_plans(await self._journals.store.all(principal), time.time())
            raise UnknownName(f"there is no plan {plan[:40]!r}", hint=hint) from None

    def _read(self, stored: StoredRun) -> StoredJournal:
        """A plan that can be committed now. Raises: StateError."""
        if not stored.given.plan:
            run = stored.given.run
            raise StateError(f"{run} is a run, and no plan", hint=f'resume_run("{run}") lets it go on, if it waits.')
        return self._journals.plan(stored)

    def _check_unchanged(self, said: StoredJournal, principal: str) -> None:
        """Raises: StateError for a function that has changed, be it one that only reads; UnknownName for one that is
        not there any more."""
        for name, schema_hash in {**said.schemas, **{each.function: each.schema_hash for each in said.changes}}.items():
            function = self._gateway.broker.functions.find(name, principal)
            if self._gateway.catalog.schema_hash(function.server, function.name) != schema_hash:
                raise StateError(f"{name} has changed since it was planned", hint="Plan the program anew.")

    async def _let_through(
        self, program: Program, said: StoredJournal, reads: Reads, file: RunFile, client: Client | None
    ) -> None:
        """Decide again of all calls, and have a person approve of the whole if one of them, or the operator, says so.

        Raises: Refused; Waits if nobody has answered yet.
        """
        from doorward_durable_runs.plans.approving import Approving, is_to_be_asked

        decisions = [await self._decided(program, change, made) for made, change in enumerate(said.changes)]
        ask = is_to_be_asked(self.settings, said.changes, decisions)
        asking = {} if said.spent else reads.asking  # else they are refused
        if said.approved and not asking:
            return
        ask = ask or next((change.decision for change in asking.values()), None)
        if ask is not None:
            find = partial(self._gateway.broker.functions.find, principal=program.principal)
            if (approvals := self._gateway.services.get(APPROVALS)) is None:
                from doorward.deciding import nobody_asks  # for plans that need a person

                raise nobody_asks("this plan", ask)
            approving = Approving(approvals, program, client, find, self._gateway.catalog)
            await approving.approve([*said.changes, *asking.values()], ask)
            await file.append(
                [(b"Y", {"reads": [*asking]})]
            )  # else a commit that found differences would use the yes up
            said.approved = True
            said.yes.update(asking)

    async def _decided(self, program: Program, change: Change, made: int) -> Decision:
        """What policy says of a change now, as far as its arguments are known. Raises: DoorwardError."""
        function = self._gateway.broker.functions.find(change.function, program.principal)
        size = len(dump(change.arguments))
        call = Call(function, change.arguments, program.run, program.principal, earlier=made, size=size)
        return await self._gateway.broker.permissions.decide(program, call)


def _outdated(plan: str, differs: tuple[str, ...]) -> Outcome:
    error = PlanOutdated(
        "what the plan had read has changed since, so nothing was written",
        hint="Look at the differences, and plan the program anew.",
    )
    return Outcome(False, error=failure(error), parts={PLAN: Plan(plan, differs=differs)})
