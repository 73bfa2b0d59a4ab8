"""The plans of a gateway: each is committed at most once, whole, and only while what it read is still so."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from anyio import to_thread

from doorward.calls.permissions import nobody_asks
from doorward.data.json_writing import dump
from doorward.data.offload import thread_to_its_end
from doorward.model.approving import APPROVALS
from doorward.model.calls import Call
from doorward.model.decisions import Decision
from doorward.model.errors import DoorwardError, PlanOutdated, StateError, UnknownName
from doorward.model.outcomes import Outcome, Plan, Waiting
from doorward.model.principals import LOCAL
from doorward.plans.change_set import Change
from doorward.programs.parameters import parameters_if_readable
from doorward.runs.outcomes import failure

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.calls.broker import Broker
    from doorward.catalog.catalog import Catalog
    from doorward.committing.reads import Reads
    from doorward.journal.replay import StoredJournal
    from doorward.journal_files.store import RunFile, StoredRun
    from doorward.model.interaction import Client
    from doorward.model.programs import Program
    from doorward.model.services import Services
    from doorward.resuming.stored_runs import StoredRuns
    from doorward.runs.admission import Admission
    from doorward.runs.execution import Execution
    from doorward.runs.run_context import RunContext
    from doorward.sandboxes.executors import Executors


class Plans:
    """See above. `runs` has what is stored of plans: each is a run that waits to be committed."""

    def __init__(
        self,
        runs: StoredRuns,
        admission: Admission,
        execution: Execution,
        broker: Broker,
        catalog: Catalog,
        services: Services,
        artefacts: Artefacts,
        executors: Executors,
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._runs, self._journals = runs, runs.journals
        self._admission, self._execution, self._broker = admission, execution, broker
        self._catalog, self._services, self._executors, self._ready = catalog, services, executors, ready
        self._artefacts = artefacts

    @property
    def offered(self) -> bool:
        """Whether programs can be planned here: agents are told how only then."""
        return self._journals.stores_plans and any(map(self._executors.may_plan, self._executors.names))

    async def commit(self, plan: str, *, principal: str | None = LOCAL, client: Client | None = None) -> Outcome:
        """Carry out a plan: its program runs again on what it had read, and each write that was withheld goes out once,
        in order. Nothing is written if a person has to approve and has not, or if what was read has changed.

        `principal`: whose plan it must be; `None` is the operator.
        """
        from doorward.committing.approving import Waits  # the start does not wait for what commits
        from doorward.committing.reads import Reads

        with contextlib.ExitStack() as held:
            try:
                if principal is not None:
                    await self._admission.admit(principal)
                await self._ready()
                file, stored = await thread_to_its_end(
                    self._claimed, plan, principal, give_up=lambda claimed: claimed[0].close()
                )
                held.callback(file.close)
                said = await to_thread.run_sync(self._read, stored)
                self._check_unchanged(said, stored.given.principal)
                program = self._runs.again(stored.given, said, principal)
                reads = Reads(self._broker, self._catalog, program)
                await reads.decide(said)
                await self._let_through(program, said, reads, file, client)
                program = self._runs.again(stored.given, said, principal)  # its time begins once a person has answered
                run = self._execution.context(program, client=client)
                inside = partial(self._carry_out, run, said, reads, file, stored, client, held)
                return await self._execution.around(run, inside)
            except Waits as waits:
                waiting = Waiting("approval", plan, (waits.what,), next=f'commit_plan("{plan}")')
                return Outcome(False, waiting=waiting)
            except DoorwardError as error:
                return self._admission.refused(error, "", principal or LOCAL)

    async def _carry_out(
        self,
        run: RunContext,
        said: StoredJournal,
        reads: Reads,
        file: RunFile,
        stored: StoredRun,
        client: Client | None,
        held: contextlib.ExitStack,
    ) -> Outcome:
        """Make the reads of a plan again, and its writes if nothing differs; then its journal holds the file. Raises:
        DoorwardError."""
        from doorward.committing.reading import Reading

        reading = Reading(self._execution, self._artefacts, self._journals)
        if differs := await reading.differences(run, said, reads.again, client):
            file.append([(b"G", {})])
            return _outdated(run.program.run, differs)
        journal = await thread_to_its_end(self._journals.commit, file, stored.given, said)
        held.pop_all()
        said.committed = True
        program = self._runs.again(stored.given, said, run.program.principal)  # its time begins now
        known = {**parameters_if_readable(program.code, program.language), **program.params}
        return await self._execution.run(program, known, None, client, journal, whole=run)

    def _claimed(self, plan: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        """Hold a stored plan. Raises: UnknownName, StateError."""
        try:
            return self._journals.store.claim(plan, principal)
        except UnknownName:
            from doorward.committing.open_plans import open_plans

            hint = open_plans(self._journals.store.all(principal), time.time())
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
            function = self._broker.functions.find(name, principal)
            if self._catalog.schema_hash(function.server, function.name) != schema_hash:
                raise StateError(f"{name} has changed since it was planned", hint="Plan the program anew.")

    async def _let_through(
        self, program: Program, said: StoredJournal, reads: Reads, file: RunFile, client: Client | None
    ) -> None:
        """Decide again of all calls, and have a person approve of the whole if one of them, or the operator, says so.

        Raises: Refused; Waits if nobody has answered yet.
        """
        from doorward.committing.approving import Approving, is_to_be_asked

        decisions = [await self._decided(program, change, made) for made, change in enumerate(said.changes)]
        ask = is_to_be_asked(self._journals.plans, said.changes, decisions)
        asking = {} if said.spent else reads.asking  # else they are refused
        if said.approved and not asking:
            return
        ask = ask or next((change.decision for change in asking.values()), None)
        if ask is not None:
            find = partial(self._broker.functions.find, principal=program.principal)
            if (approvals := self._services.get(APPROVALS)) is None:
                raise nobody_asks("this plan", ask)
            approving = Approving(approvals, program, client, find, self._catalog)
            await approving.approve([*said.changes, *asking.values()], ask)
            file.append([(b"Y", {"reads": [*asking]})])  # else a commit that found differences would use the yes up
            said.approved = True
            said.yes.update(asking)

    async def _decided(self, program: Program, change: Change, made: int) -> Decision:
        """What policy says of a change now, as far as its arguments are known. Raises: DoorwardError."""
        function = self._broker.functions.find(change.function, program.principal)
        size = len(dump(change.arguments))
        call = Call(function, change.arguments, program.run, program.principal, earlier=made, size=size)
        return await self._broker.permissions.decide(program, call)


def _outdated(plan: str, differs: tuple[str, ...]) -> Outcome:
    error = PlanOutdated(
        "what the plan had read has changed since, so nothing was written",
        hint="Look at the differences, and plan the program anew.",
    )
    return Outcome(False, error=failure(error), plan=Plan(plan, differs=differs))
