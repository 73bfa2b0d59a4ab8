"""What a run has done, as far as it is counted and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from doorward.journal.seen_times import MOST_TIMES, SeenTimes
from doorward.model.errors import DoorwardError, SecretWithheld
from doorward.model.usage import Usage
from doorward.runs.run_modules import RunModules
from doorward.runs.run_totals import RunTotals
from doorward.runs.suspension import Suspension

if TYPE_CHECKING:
    from doorward.calls.broker import Broker
    from doorward.journal.entries import Entry
    from doorward.journal.recorder import Journal
    from doorward.model.calls import Call
    from doorward.model.programs import Program
    from doorward.model.waits import Wait
    from doorward.program_api.modules import Modules
    from doorward.undo.inverse import KeepsInverses


class RunJournal(RunModules):
    """The part of `RunContext` that its journal needs, so that a run which is resumed stands where it stood."""

    __slots__ = ("_journal", "_schema_hashes", "_suspension", "_times", "_totals", "_withheld")

    def __init__(self, program: Program, broker: Broker, modules: Modules, journal: Journal | None) -> None:
        super().__init__(program, broker, modules)
        self._journal = journal
        self._suspension = Suspension(journal)
        self._times = SeenTimes(journal.times if journal else ())
        self._totals = RunTotals()
        self._schema_hashes = {**journal.schemas} if journal else {}
        self._withheld: SecretWithheld | None = None

    # The times that its program reads

    def times(self) -> Sequence[float]:
        return self._times.given

    def seen(self, times: Sequence[float]) -> None:
        self._times.add(times)
        if self._journal is not None:
            if self._times.too_many:
                self._journal.lose(f"its program read the time more than {MOST_TIMES:,} times")
            else:
                self._journal.seen(times)

    def _begin_times(self, executor: str, repeats: bool) -> None:
        self._times.begin()
        if self._journal is not None:
            self._journal.forget_times()
            if not repeats:
                self._journal.lose(f"the executor {executor} repeats no program")

    @property
    def suspension(self) -> Suspension:
        """What this run waits for, and how it ends then."""
        return self._suspension

    def same_schema(self, function: str, schema_hash: str) -> str:
        """The schema hash of a function at the first call of this run; if this is the first, the one given."""
        if (first := self._schema_hashes.get(function)) is None:
            first = self._schema_hashes[function] = schema_hash
            if self._journal is not None:
                self._journal.schema(function, schema_hash)
        return first

    @property
    def resumed(self) -> bool:
        """Whether it was stored, and goes on."""
        return self._journal is not None and self._journal.resumed

    @property
    def goes_on(self) -> bool:
        """Whether it was begun before."""
        return self._journal is not None and self._journal.goes_on

    async def settle(self, call: Call, known_by: Callable[[], str]) -> None:
        """Make sure that a call may go out which may not be repeated, unless its server knows it by a header."""
        if self._journal is not None:
            await self._journal.settle(call, self, known_by)

    def sending(self, call: Call, *, repeats: bool) -> None:
        """A write goes out now, which may or may not be repeated."""
        if self._journal is not None:
            self._journal.sending(call, repeats=repeats)

    @property
    def keeps_inverses(self) -> KeepsInverses | None:
        """Its journal, in which the calls are kept that undo its own."""
        return self._journal

    # How it is suspended

    @property
    def suspended(self) -> bool:
        """Whether it waits for something, and ends for that."""
        return bool(self._suspension.waits)

    def can_wait(self, until: float = 0.0) -> bool:
        """See `Run.can_wait`."""
        return self._suspension.possible(until)

    async def wait(self, wait: Wait) -> NoReturn:
        """See `Run.wait`."""
        await self._suspension.wait(wait)

    def fail(self, error: DoorwardError) -> None:
        """End it with this error, whatever its program does about it."""
        self._suspension.fail(error)

    def consume(self, id: str) -> bool:
        """See `Run.consume`."""
        return self._suspension.consume(id)

    def set_parked(self, call: Call, *, parked: bool) -> None:
        """A call that went out was not made, and may wait with its run; or it goes out again."""
        if self._journal is None:  # then no call has a place of its own
            return
        if parked:
            self._suspension.parked.add(call.place)
        else:
            self._suspension.parked.discard(call.place)

    def is_out(self, call: Call) -> bool:
        """Whether a call that went out may have been made: it does not wait with its run."""
        return call.place not in self._suspension.parked

    def replayed(self, entry: Entry) -> None:
        """Count a call that was made before the run was resumed, as it was counted then."""
        with suppress(DoorwardError):
            function = self._broker.functions.find(entry.function, self._program.principal, near=False)
            self._totals.count(function.qualified, ok=entry.error is None, ms=entry.ms)
            self._totals.used_before(function.server, entry.used)
            self._broker.reaches(self._program.principal, function.server)
        if isinstance(entry.error, SecretWithheld):
            self.withhold(entry.error)

    def scrubbed(self, function: str, value: Any) -> Any:
        return self._broker.scrubbed(function.partition(".")[0], self._program.principal, value)

    def used(self, function: str) -> Mapping[str, float]:
        """What its calls have used so far of the server of a function."""
        return self._totals.used(function.partition(".")[0])

    @property
    def totals(self) -> RunTotals:
        """What its calls add up to."""
        return self._totals

    def count_with(self, other: RunJournal) -> None:
        """What another run adds up to is what this one does: it is what this one stands for."""
        self._totals = other.totals

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        """Count a call that was made."""
        self._totals.count(function, ok=ok, ms=ms)

    def usage_of(self, server: str) -> Usage:
        return self._totals.usage_of(server)

    @property
    def withheld(self) -> SecretWithheld | None:
        """Why this run gets no more answers."""
        return self._withheld

    def withhold(self, why: SecretWithheld) -> None:
        """Give this run no more answers."""
        self._withheld = why
