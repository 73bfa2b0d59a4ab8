"""The journal of a run that commits a plan: what was read is answered from the plan, and each call that it withheld
goes out once, in its turn, if it is the one that was planned."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, ProgramDiverged
from doorward.administration import maybe_in_thread as done
from doorward.values import effect
from doorward_durable_runs.files_in_words import in_words
from doorward_durable_runs.journal import commit_end
from doorward_durable_runs.journal.entries import Entry, Recorded, patience
from doorward_durable_runs.journal.plan_order import PlanOrder
from doorward_durable_runs.journal.recorder import Journal
from doorward_durable_runs.plans.change_set import fits, is_as_planned
from doorward_durable_runs.plans.unknown_values import planned_in, resolved

if TYPE_CHECKING:
    from doorward import Call, Decision, Reply
    from doorward.recording import InterceptedRun, OutcomePart, RecordedRun
    from doorward_durable_runs.journal.replay import StoredJournal
    from doorward_durable_runs.storage.run_store import RunFile


class CommitJournal(Journal):
    """See above. It is also what meets the calls of its run (`Interceptor`)."""

    __slots__ = ("_answers", "_approved", "_met", "_order", "_withheld")

    async def go_on(self, file: RunFile, stored: StoredJournal) -> None:
        """Commit a plan, or go on with that. Raises: StateError."""
        if not stored.committed:
            await file.append([(b"C", {"at": time.time()})])
        self._begins(stored, patience(self._given, stored.entries))
        await super().go_on(file, stored)
        self._recorded = Recorded(stored.entries, ())

    def play(self, stored: StoredJournal, patience: float) -> None:
        """Play a commit again, on its recorded answers alone."""
        self._begins(stored, patience)
        super().play(stored, patience)
        self._recorded = Recorded(stored.entries, ())

    def _begins(self, stored: StoredJournal, patience: float) -> None:
        self.interceptor, self._approved = self, stored.approved
        self._order = PlanOrder(stored.order.values(), patience)
        self._met: set[int] = set()
        self._withheld = [entry for entry in stored.entries if entry.change is not None]
        self._answers = {
            entry.change.number: entry.reply.value
            for entry in self._withheld
            if entry.change is not None and entry.reply is not None
        }

    def notes(self, *, ok: bool) -> Sequence[str]:
        """What became of the writes of the plan, and what can be done now, unless it is as planned."""
        return commit_end.told(self._given.run, self._withheld, self._met, ok=ok)

    async def _begin(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], more: tuple[str, bool], *, large: bool
    ) -> Entry:
        self._begun += 1
        entry = Entry(0, function, args, kwargs, more)
        await done(entry.read, large=large)
        self._order.begun(self._begun)
        found = self._recorded.claim(entry.key) or self._fitting(function, [args, kwargs, *more])
        if self._offline:
            return self._answered(found if found and found.ended else None, entry)
        if found is None:
            raise self._unplanned(f"the plan has no such call: {entry.text}")
        return found

    def _fitting(self, function: str, made: list[Any]) -> Entry | None:
        """The first planned call with these arguments, of which some were not known then."""
        for entry in self._withheld:
            if entry.claimed or entry.function != function or entry.made is None:
                continue
            try:
                if fits(entry.made, made) and fits(resolved(entry.made, self._answers), made, known=True):
                    return self._recorded.claim(entry.key)
            except LookupError:
                continue
        return None

    async def _turn(self, entry: Entry) -> None:
        await self._order.turn(entry)
        self._order.over(entry)

    async def _as_stated(self, run: RecordedRun, entry: Entry) -> Reply:
        await self._order.turn(entry)
        return await super()._as_stated(run, entry)

    async def _end(
        self, entry: Entry, reply: Reply | None, error: DoorwardError | None, started: float, run: RecordedRun
    ) -> None:
        await super()._end(entry, reply, error, started, run)
        if entry.change is not None and reply is not None:
            self._answers[entry.change.number] = reply.value
        self._order.over(entry, failed=error is not None)

    # As `Interceptor`

    async def meet(self, run: InterceptedRun, call: Call, sent: Call, decision: Decision) -> None:
        """Return when it is the turn of a call, if it was planned. Raises: ProgramDiverged, which ends the run."""
        entry = self._under_way[call.place]
        change, name = entry.change, call.function.qualified
        error: ProgramDiverged | None = None
        if change is None:
            if effect(call.function) != "read":
                error = self._unplanned(f"{name} was no write when it was planned")
        elif not await self._order.turn(entry):
            error = self._unplanned(f"{name} comes before other writes, which came first in the plan")
        elif not is_as_planned(change, name, call.arguments, self._answers):
            error = self._unplanned(f"{name} was planned with other arguments; it is now {entry.text}")
        elif change.files and change.files != in_words(call.function, sent.arguments):
            error = self._unplanned(f"{name} was planned with other files; it is now {entry.text}")
        if error is not None:
            run.fail(error)
            raise error
        self._met.add(call.place)

    def covers(self, call: Call, decision: Decision) -> bool:
        """A yes to the plan is one to its writes; it says nothing of reads whose arguments nobody had seen, nor of a
        write for which another rule asks now that all of its arguments are known."""
        change = self._under_way[call.place].change
        if not self._approved or change is None or change.number < 0:
            return False
        then = change.decision
        return (then.then, then.rule) == ("confirm", decision.rule) or not any(planned_in(dict(change.arguments)))

    def approved(self, call: Call, decision: Decision) -> None:
        """A yes to one of its calls is that to no other."""

    def unknown(self, value: Any) -> bool:
        """All of it is known."""
        return False

    def value(self, value: Any) -> Any:
        """The value as it is: all of it is known."""
        return value

    def parts(self) -> Mapping[str, OutcomePart]:
        """There is nothing to show of it."""
        return {}

    def _unplanned(self, why: str) -> ProgramDiverged:
        return ProgramDiverged(
            f"the program behaves otherwise than in its plan: {why}",
            hint="Nothing more was sent. What a program does must not depend on the clock, on randomness or on files.",
        )
