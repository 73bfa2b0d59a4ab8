"""The journal of one run: it records the calls of a program, and answers them when the program runs again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from doorward import (
    DoorwardError,
    OutcomeUnknown,
    ProgramDiverged,
    RefusedForNow,
    Reply,
    RunState,
    SandboxDied,
    ServerError,
    StateError,
    StateKey,
    Wait,
    log,
)
from doorward.administration import dump_json as dump
from doorward.administration import is_large
from doorward.administration import maybe_in_thread as done
from doorward.administration import run_in_thread as off_loop
from doorward.deciding import ACCOUNT
from doorward.recording import RecordedCall
from doorward.sandboxing import Planned
from doorward.values import to_its_end
from doorward_durable_runs.journal.entries import HELPERS, Entry, Recorded, patience
from doorward_durable_runs.journal.errors import RunInterrupted
from doorward_durable_runs.journal.events import Events
from doorward_durable_runs.journal.seen_times import MOST_TIMES, SeenTimes
from doorward_durable_runs.journal.sent import sent_calls
from doorward_durable_runs.journal.suspension import StoredSuspension
from doorward_durable_runs.storage.given import Given

if TYPE_CHECKING:
    from doorward import Call, Failure, Outcome
    from doorward.recording import Interceptor, RecordedRun, Suspends
    from doorward_durable_runs.journal.replay import StoredJournal
    from doorward_durable_runs.plans.change_set import ChangeSet
    from doorward_durable_runs.plans.outcome import Plan
    from doorward_durable_runs.storage.run_store import RunFile, RunStore

JOURNAL = StateKey["Journal | None"]("journal", lambda: None)
"""The journal of a run."""

_COPIES = 2
"""How often the arguments of a call are stored in a plan: as they were given, and as they would be sent."""

_DIED_TWICE = (
    "It died there a second time: it is the program that ends it, so the run is over. The calls before that were made, "
    "see `calls`: look what is there before you run a program again, and have it do less at once."
)

_DIED_FOR_GOOD = (
    "This run cannot be resumed: {}. The calls before that were made, see `calls`: look what is there before you run "
    "its program again."
)

_END_BYTES = 200
"""What is stored of a call besides its answer, about."""


class Journal(Events):
    """Records a run: in memory, with references only, until the run has to wait; or, if it is `always` durable, in its
    file before and after each call. A run that goes on after a wait is always durable."""

    __slots__ = (
        "_announced", "_answered_calls", "_begun", "_died", "_interrupted", "_known_by", "_offline", "_places",
        "_recorded", "_spent", "_times", "answered", "goes_on", "interceptor", "schemas", "suspension",
    )  # fmt: skip

    def __init__(self, given: Given, store: RunStore, *, always: bool, most: int) -> None:
        super().__init__(given, store, always=always, most=most)
        self._recorded = Recorded((), ())
        self._places = self._begun = self._answered_calls = 0
        self._died = -1
        self._offline, self._spent = False, set[str]()
        self.answered: Callable[[RecordedCall], None] = lambda call: None
        """Gets each call of a run that is played again, with its recorded answer."""
        self.goes_on = False
        """Whether its run was begun before: it goes on, or is played again."""
        self._known_by: dict[str, str] = {}
        self._interrupted: asyncio.Future[RunInterrupted | None] | None = None
        self._announced = False
        self._times = SeenTimes()
        self.schemas: Mapping[str, str] = {}
        """The functions that it had called before it was resumed, each as it was then: the hash of its schema."""
        self.interceptor: Interceptor | None = None
        """What has its calls made as a plan says, if it commits one."""
        self.suspension = StoredSuspension(self)

    @property
    def times(self) -> Sequence[float]:
        """What the program read from its clocks before it was resumed."""
        return self._times.given

    def attach(self, state: RunState) -> None:
        """See `Recorder.attach`."""
        state[JOURNAL] = self

    async def go_on(self, file: RunFile, stored: StoredJournal) -> None:
        """Answer the calls of a program that runs again with those of a stored run. Raises: StateError."""
        self._file, self._always, self._places, self.goes_on = file, True, len(stored.entries), True
        self._count = file.count
        self._recorded = Recorded(stored.entries, stored.ends, patience(self._given, stored.entries))
        self._times = SeenTimes(stored.times)
        self.schemas, self._spent = stored.schemas, {*stored.spent_yeses}
        self._files.update(kept.uri for kept, _, _ in stored.files)
        self._bytes, self._answered_calls, self._died = stored.bytes, len(stored.ends), stored.died
        self._events.append((b"R", {"at": time.time()}, 0))
        await self._flush()

    def play(self, stored: StoredJournal, patience: float) -> None:
        """Answer the calls of a program from a stored run, and no others: nothing is sent, and nothing stored."""
        self._recorded = Recorded(stored.entries, [*stored.order.values()], patience)
        self._times = SeenTimes(stored.times)
        self._offline, self._always, self.why_not, self.goes_on = True, False, "it is a replay", True

    @property
    def offline(self) -> bool:
        """Whether it is played again, and nothing is sent."""
        return self._offline

    @property
    def resumed(self) -> bool:
        """Whether it goes on with calls that were made before."""
        return self._recorded.any

    @property
    def stored(self) -> bool:
        """Whether it is in a file, so that it can be resumed whatever happens to this process."""
        return self._file is not None and not self.why_not

    def begins(self, executor: str, *, repeats: bool) -> None:
        """See `Recorder.begins`. It has made no call yet; what is not repeated cannot be resumed."""
        self._times.begin()
        self.forget_times()
        if not repeats:
            self.lose(f"the executor {executor} repeats no program")

    def seen(self, times: Sequence[float]) -> None:
        """See `Recorder.seen`."""
        self._times.add(times)
        if self._times.too_many:
            self.lose(f"its program read the time more than {MOST_TIMES:,} times")
        else:
            self.read_times(times)

    def notes(self, *, ok: bool) -> Sequence[str]:
        """What there is to say at the end of a run, beside its outcome."""
        return ()

    # A call

    async def call(
        self,
        run: RecordedRun,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        make: Callable[[int], Awaitable[Reply]],
        *,
        more: tuple[str, bool] = ("", False),
        large: bool,
    ) -> Reply:
        """Make a call and record it; or answer it, if the program made it before.

        Raises: DoorwardError; ProgramDiverged, which ends the run, if the program made another call before.
        """
        try:
            entry = await self._begin(function, args, kwargs, more, large=large)
        except DoorwardError as error:
            if self.stopped or isinstance(error, ProgramDiverged):
                run.fail(error)
            raise
        if entry.ended:
            return await self._again(run, entry)
        if entry.stated:
            return await self._as_stated(run, entry)
        started = time.perf_counter()
        self._under_way[entry.place] = entry
        try:
            if self._file is not None and not self._announced and not function.startswith(HELPERS):
                await self._announce(run)
            reply = await make(entry.place)
        except DoorwardError as error:
            if (stopped := self._stops(entry, error)) is not None:
                run.fail(stopped)
                raise stopped from None
            await self._end(entry, None, error, started, run)
            raise
        await self._end(entry, reply, None, started, run)
        return reply

    async def _announce(self, run: RecordedRun) -> None:
        """Tell the client that its run can be resumed, before its first call."""
        if self.stored:
            self._announced = True
            if run.client is not None:
                await run.client.run_stored(self._given.run)

    async def _begin(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], more: tuple[str, bool], *, large: bool
    ) -> Entry:
        self._begun += 1
        entry = Entry(0, function, args, kwargs, more)
        if self._given.plan:
            entry.made = [args, kwargs, *more]
            self.holds(_COPIES * len(await done(dump, entry.made, large=large)))
        if large:
            await off_loop(entry.read)
        elif self._always or self._offline:
            entry.read()
        if self._recorded.left or self._offline:
            found = self._recorded.claim(entry.key)
            self._recorded.advance(self._begun)
            if self._offline:
                found = self._answered(found, entry)
                given = {name: value for name, value in kwargs.items() if name != ACCOUNT}
                account = str(kwargs.get(ACCOUNT, ""))
                self.answered(RecordedCall(function, args, given, found.reply, found.error, found.ms, account))
                return found
            if found is None:
                raise self._diverged(entry)
            return found
        if self._recorded.any:
            self._recorded.advance(self._begun)
        entry.place, self._places = self._places, self._places + 1
        if self._always or not self.why_not:
            self._events.append((b"B", entry, 0))
            if self._always and self._file is None:
                await self._flush_before(entry)
        return entry

    def _answered(self, found: Entry | None, entry: Entry) -> Entry:
        """The recorded call, if it has an answer or was withheld. Raises: ServerError."""
        if found is not None and found.change is not None and not found.ended and self._given.plan:
            found.reply, found.ended = Reply(Planned(found.change.number)), True
        if found is None or not found.ended or (found.reply is None and found.error is None):
            hint = "A replay sends nothing. What was recorded: doorward runs show ID"
            raise ServerError(f"the run has no answer to this call: {entry.text}", hint=hint)
        return found

    async def _turn(self, entry: Entry) -> None:
        """Wait until it is the turn of a recorded call to end."""
        await self._recorded.turn(entry)

    async def _again(self, run: RecordedRun, entry: Entry) -> Reply:
        await self._turn(entry)
        run.was_made(entry.function, entry.reply, entry.error, entry.ms, entry.used)
        if entry.error is not None:
            raise entry.error
        assert entry.reply is not None
        return entry.reply

    def _stops(self, entry: Entry, error: DoorwardError) -> DoorwardError | None:
        """The error that ends a durable run before a call that was not made for a reason that passes, and says nothing
        of the call: nothing can be stored, a budget or a yes cannot be read, what must be recorded cannot be. It is no
        answer: the call is made when the run is resumed."""
        if self.stopped:
            return error
        passes = isinstance(error, (StateError, RefusedForNow)) and not entry.out
        if not passes or not self._always:
            return None
        return self._not_made(entry, error.message, error.hint)

    async def _as_stated(self, run: RecordedRun, entry: Entry) -> Reply:
        """The answer of a call that was made, as a person says."""
        entry.undo = {"why": "whether it was made is what a person said"}
        reply = Reply(run.scrubbed(entry.function, entry.stated[0]))
        run.was_made(entry.function, entry.reply, entry.error, entry.ms, entry.used)
        await self._end(entry, reply, None, time.perf_counter(), run)
        return reply

    async def settle(self, call: Call, run: Suspends, known_by: Callable[[], str]) -> None:
        """Make sure that a call may go out which may not be repeated. `known_by` is the header by which its server
        knows it if it comes again: only one that had it the first time is known.

        Raises: RunInterrupted, which ends the run, if another of the same program was cut off after it had written;
        OutcomeUnknown, LimitExceeded for a call that went out before the run was resumed, and may have been made.
        """
        if not self.resumed and self.interceptor is None and (error := await self._find_interrupted()) is not None:
            run.fail(error)
            raise error
        entry = self._under_way[call.place]
        if (by := self._known_by.get(call.function.server)) is None:
            by = self._known_by[call.function.server] = known_by()
        if entry.sent and not entry.out and entry.again is not True and not (by and by == entry.by):
            await self._unknown(entry, run)
        entry.by = by

    async def _find_interrupted(self) -> RunInterrupted | None:
        """Look for it once, before the first call that may not be repeated."""
        from doorward_durable_runs.journal.equal_runs import interrupted

        if self._interrupted is None:
            self._interrupted = asyncio.ensure_future(interrupted(self._store, self._given))
        return await asyncio.shield(self._interrupted)

    async def sending(self, call: Call, *, repeats: bool) -> None:
        """A write goes out, which may or may not be repeated: in a durable run, not before that is stored. Raises:
        StateError if it cannot be."""
        entry = self._under_way[call.place]
        if not repeats:
            entry.sent, entry.again, entry.out = True, None, True
            if self._always or not self.why_not:
                self._events.append((b"S", entry, 0))
        if self._always and (self._events or self._storing):
            try:
                await self._flush_before(entry)
            except asyncio.CancelledError:  # it is not sent
                if not repeats:
                    entry.sent, entry.out = entry.was_sent, False
                    self._events += [] if entry.was_sent else [(b"U", entry, 0)]
                raise

    def consume(self, id: str) -> bool:
        """Use up what counts once, such as a person's approval of one call. Returns: whether this run has not done that
        before."""
        if id in self._spent:
            return False
        self._spent.add(id)
        if not self.why_not:
            self._events.append((b"J", {"id": id}, 0))
        return True

    async def _unknown(self, entry: Entry, run: Suspends) -> None:
        if entry.again is None and run.can_wait():
            lost = f"call {entry.place} was sent and its answer lost, so it may have been made: {entry.text}"
            ask = f"doorward runs resume {self._given.run} --call {entry.place} --unknown repeat|fail|made"
            await run.wait(Wait("unknown", f"{lost}; a person looks, then: {ask}"))
        raise OutcomeUnknown(
            f"whether this call of {entry.function} was made is unknown: it was sent, and its answer was lost",
            hint="Read what is there before you make it again.",
        )

    async def _end(
        self, entry: Entry, reply: Reply | None, error: DoorwardError | None, started: float, run: RecordedRun
    ) -> None:
        """A call has ended: in a durable run that is stored before the program is told."""
        entry.reply, entry.error, entry.used = reply, error, run.used(entry.function)
        if self._given.plan and self.interceptor is None:
            entry.yes = cast("ChangeSet", run.interceptor).yes(entry.place)
        entry.ms = (time.perf_counter() - started) * 1000
        self._under_way.pop(entry.place, None)
        self._answered_calls += 1
        self._bytes += _END_BYTES
        if self._bytes > self._most:
            self.holds(0)
        if self.stopped or (self.why_not and not self._always):
            return
        if reply is not None and isinstance(reply.value, Planned):  # it is withheld again when the plan is resumed
            self._events.append((b"Q", entry, self._begun))
            return
        if not self._always:
            entry.begun = self._begun
            self._events.append((b"E", entry, self._begun))
            return
        from doorward_durable_runs.journal.writing import ended, ended_in_short

        said = b""
        if not self.why_not:
            try:
                said = await done(ended, entry, large=reply is not None and is_large(reply.value))
            except StateError as error:  # there is no JSON for its answer
                self.lose(error.message)
        self._events.append((b"E", said or ended_in_short(entry), self._begun))
        try:  # noqa: SIM105 - a block of `suppress` costs each call more
            await self._flush()
        except StateError:
            pass  # it is stored before the next write, or that is not sent

    # The run

    async def end(self, run: RecordedRun, outcome: Outcome) -> Outcome:
        """See `Recorder.end`. A plan that is complete is stored, so that it can be committed."""
        if outcome.waiting is not None:
            return outcome
        if not run.program.plan:
            return await self.over(outcome)
        plan = cast("Plan | None", outcome.parts.get("plan"))
        if self._offline:
            return replace(outcome, parts={})
        if plan is not None and not plan.counts and not outcome.ok:
            outcome = replace(outcome, parts={})
        if not outcome.ok or plan is None or not plan.counts:
            return await self.over(outcome)
        try:
            await to_its_end(self.plan(cast("ChangeSet", run.interceptor).withheld))
        except StateError as error:
            return replace(outcome, notes=(*outcome.notes, error.message))
        id = run.program.run
        return replace(outcome, parts={"plan": replace(plan, id=id, next=f'commit_plan("{id}")')})

    async def over(self, outcome: Outcome) -> Outcome:
        """The run has ended: what is stored of it, its outcome too, is kept for those who ask what happened. One that
        was stopped is not over, nor is one that failed before it was where it had stood (a server is not there, no
        executor runs it), nor one whose sandbox died: it can be resumed, and its outcome says so."""
        if self._file is not None and self._resumable and outcome.error is not None:
            if self.stopped:
                await self.close(what=[outcome.error.message])
                return outcome
            if self._fell_short(outcome):
                await self.close(what=[outcome.error.message])
                again = f"the run is not over: once that is put right, {self._resume} lets it go on"
                return replace(outcome, notes=(*outcome.notes, again))
            if _sandbox_died(outcome.error):
                if self._died != self._answered_calls:
                    await self.close(what=[outcome.error.message], died=self._answered_calls)
                    then = f"{self._resume} goes on from there; no write is made twice."
                    hint = f"The calls before that were made, see `calls`. {then}"
                    return replace(outcome, error=replace(outcome.error, hint=hint))
                outcome = replace(outcome, error=replace(outcome.error, hint=_DIED_TWICE))
        elif self._file is not None and outcome.error is not None and _sandbox_died(outcome.error):
            hint = _DIED_FOR_GOOD.format(self.why_not)
            outcome = replace(outcome, error=replace(outcome.error, hint=hint))
        if said := self.notes(ok=outcome.ok):
            outcome = replace(outcome, notes=(*outcome.notes, *said))
        if self._file is not None:
            await self._store_end(outcome)
        await self._let_go()
        return outcome

    async def _store_end(self, outcome: Outcome) -> None:
        from doorward_durable_runs.journal import endings

        end = {"ok": outcome.ok, "at": time.time()}
        before = [*self._events]
        for said in ({**end, "outcome": endings.said(outcome)}, end):  # the disk may have room for the second
            self._events = [*before, (b"O", said, 0)]
            try:
                await self._flush()
                return
            except StateError as error:
                why = error.message
        log.warning("journal_not_written", run=self._given.run, why=why)

    def _fell_short(self, outcome: Outcome) -> bool:
        failed = outcome.error is not None and outcome.error.type != ProgramDiverged.__name__
        return failed and self._recorded.left > 0 and self.interceptor is None

    @property
    def _resume(self) -> str:
        return f'resume_run("{self._given.run}")'

    def _diverged(self, entry: Entry) -> ProgramDiverged:
        return ProgramDiverged(
            f"the program behaved differently when it ran again: its call was\n{self._recorded.next().text}\n"
            f"and is now\n{entry.text}",
            hint=f"Nothing more was sent. {sent_calls(self._recorded.entries)} What a program does must not depend on "
            "the clock, on randomness or on files.",
        )


def _sandbox_died(error: Failure) -> bool:
    return (error.kind, error.type) == (SandboxDied.kind, SandboxDied.__name__)
