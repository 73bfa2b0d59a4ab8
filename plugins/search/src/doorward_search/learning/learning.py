"""Learning from use: what searches found and runs then called, kept per principal and told to later searches."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from doorward import StateError, log
from doorward.administration import run_in_thread
from doorward.values import to_its_end

from doorward_search.learning.lessons import EVERYONE, FLOW, WITH, WORD, Amount, Lesson, more
from doorward_search.learning.recent_searches import MAX_HITS, RecentSearches
from doorward_search.learning.run_record import RunRecord

if TYPE_CHECKING:
    from doorward.searching import Catalog

    from doorward_search.index import Index
    from doorward_search.learning.field_names import FieldNames
    from doorward_search.learning.known import Known
    from doorward_search.learning.stored_lessons import StoredLessons
    from doorward_search.learning.words import Learned
    from doorward_search.question import Question
    from doorward_search.settings import SearchSettings

MAX_TOGETHER = 8
"""Functions of a run that are counted as called together: the first."""

MAX_UNWRITTEN, MAX_OF_ONE = 5000, 1000
"""Lessons that wait to be written, in all and of one principal, who takes no room from others; further ones are lost
until these are written."""

MAX_LOOKED_AT = 8
"""Runs at a time in whose values a thread looks for flows; of further ones, these are not learned."""

MAX_KNOWN = 100
"""Principals whose lessons are in memory."""

_NOTHING: Sequence[tuple[Lesson, Amount]] = ()


class _Kept(NamedTuple):
    """What is in memory of a principal's lessons: of which of all changes, which version of theirs, and what it is."""

    seen: int
    version: int
    known: Known


MAX_REVISION = 10_000
"""Lessons in memory that a principal was given before the stored ones, which are bounded, are read again."""


class Learning:
    """What one gateway learns. Without `[search] learn` nothing is remembered, read or written."""

    def __init__(
        self,
        settings: SearchSettings,
        store: StoredLessons | None,
        catalog: Catalog,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._on, self._shared, self._clock = settings.learn, settings.shared, clock
        self._store = store if self._on else None
        self._recent = RecentSearches(time.monotonic)
        self._catalog = catalog
        self._known: OrderedDict[str, _Kept] = OrderedDict()
        self._learned: OrderedDict[str, Learned] = OrderedDict()
        self._unwritten: dict[tuple[str, Lesson], Amount] = {}
        self._being_written: dict[tuple[str, Lesson], Amount] = {}
        self._waiting: Counter[str] = Counter()
        self._looking: set[asyncio.Future[None]] = set()
        self._writing = anyio.Lock()
        self._failed = False

    # Searches

    def bonus(self, index: Index, question: Question, principal: str, known: Known) -> Any:
        """What earlier use, as far as it is `known`, adds to the score of each function; `None` if that is nothing."""
        if not self._on or not question.concepts or not known.words:
            return None
        from doorward_search.learning.words import (  # numpy takes a tenth of a second: not when a gateway starts
            Learned,
            bonus,
        )

        learned = self._learned.pop(self._whose(principal), None)
        if learned is None or learned.index is not index or learned.known is not known:
            learned = Learned(index, known)
        self._learned[self._whose(principal)] = learned
        while len(self._learned) > MAX_KNOWN:
            self._learned.popitem(last=False)
        return bonus(learned, question, self._clock())

    def searched(self, index: Index, question: Question, principal: str, found: Iterable[str], offset: int) -> None:
        """Remember for a while what a question found, in its order, of which `offset` came before these."""
        if not self._on or offset >= MAX_HITS or not question.concepts:
            return
        from doorward_search.learning.words import credits, shares

        functions = [*islice(found, MAX_HITS - offset)]
        if functions and (words := credits(shares(index, question))):
            self._recent.add(principal, words, functions)

    # Runs

    def end(self, record: RunRecord) -> None:
        """Learn from a run that has ended. Nobody waits for what takes long."""
        if not record.functions:
            return
        for (word, function), credit in self._recent.led_to(record.principal, record.functions).items():
            self._learn(record.principal, Lesson(WORD, word, function), credit)
        for one, other in combinations(sorted(islice(record.functions, MAX_TOGETHER)), 2):
            self._learn(record.principal, Lesson(WITH, one, other))
        if len(record.functions) > 1 and len(self._looking) < MAX_LOOKED_AT:
            work = asyncio.ensure_future(self._look(record))
            self._looking.add(work)
            work.add_done_callback(self._looking.discard)

    @cached_property
    def _fields(self) -> FieldNames:
        from doorward_search.learning.field_names import FieldNames

        return FieldNames(self._catalog)

    async def _look(self, record: RunRecord) -> None:
        """Learn whose values the run passed to whom."""
        from doorward_search.learning.value_flow import flows

        try:
            found = await run_in_thread(flows, record.calls)
            known = [flow for flow in sorted(found) if self._fields.has(flow.producer, flow.field, flow.parameter)]
        except (RuntimeError, StateError):  # whoever called changes the answer that we read; or there is no catalog now
            return
        for flow in known:
            subject, given = f"{flow.consumer} {flow.parameter}", f"{flow.producer} {flow.field}"
            self._learn(record.principal, Lesson(FLOW, subject, given))

    async def settle(self) -> None:
        """Wait until the runs that have ended are looked at."""
        if self._looking:
            await asyncio.wait(self._looking)

    def _learn(self, principal: str, lesson: Lesson, times: float = 1.0) -> None:
        amount, key = Amount(times, self._clock()), (self._whose(principal), lesson)
        is_new = key not in self._unwritten
        if not is_new or (len(self._unwritten) < MAX_UNWRITTEN and self._waiting[principal] < MAX_OF_ONE):
            self._waiting[principal] += is_new
            self._unwritten[key] = more(lesson.kind, self._unwritten.get(key), amount)
            if kept := self._known.get(key[0]):
                kept.known.add(lesson, amount)

    # What is known

    def _whose(self, principal: str) -> str:
        return EVERYONE if self._shared else principal

    async def known(self, principal: str) -> Known:
        """What was learned of a principal, or of everyone if that is shared. Read again when the stored lessons have
        changed; if they cannot be read, what was known stays."""
        from doorward_search.learning.known import Known

        who = self._whose(principal)
        kept, seen, version, stored = self._known.get(who), -1, -1, _NOTHING
        if self._store is not None:
            try:
                seen = await self._store.changes()  # taken before reading: what changes meanwhile is read the next time
                if kept is None or (seen != kept.seen and not self._being_written):
                    version, stored = await self._store.of(who)
            except StateError as error:
                self._warn("lessons_not_read", error)
                seen = -2  # read again the next time
        kept = self._known.get(who, kept)
        if kept and (version < 0 or version == kept.version):
            self._known[who] = kept._replace(seen=kept.seen if self._being_written else seen)
            self._known.move_to_end(who)
            return kept.known
        known = Known(stored, self._clock())
        for waiting in (self._being_written, self._unwritten):
            for (whose, lesson), amount in waiting.items():
                if whose == who:
                    known.add(lesson, amount)
        # what is being written may be there twice now: read again the next time
        self._known[who] = _Kept(-2 if self._being_written else seen, version, known)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return known

    # Writing

    async def flush(self) -> None:
        """Write what was learned since the last time. If it cannot be written, it waits for the next time."""
        async with self._writing:
            if self._store is None or not self._unwritten:
                return
            self._being_written, self._unwritten = self._unwritten, {}
            self._waiting.clear()
            try:
                for who in {who for who, _ in self._being_written}:
                    await to_its_end(self._write(self._store, who))
            except StateError as error:
                self._warn("lessons_not_written", error)
            finally:
                self._put_back()

    async def _write(self, store: StoredLessons, who: str) -> None:
        """Write what was learned of one principal. What we know already of what we add to needs no reading again: it
        has what we wrote."""
        new = {lesson: amount for (whose, lesson), amount in self._being_written.items() if whose == who}
        before, after = await store.add(who, new, self._clock())
        for lesson in new:
            del self._being_written[who, lesson]
        kept = self._known.get(who)
        if kept is not None:
            is_ours = kept.version == before and kept.known.revision < MAX_REVISION
            self._known[who] = kept._replace(version=after) if is_ours else kept._replace(seen=-2, version=-1)

    def _put_back(self) -> None:
        later, self._unwritten, self._being_written = self._unwritten, self._being_written, {}
        for key, amount in later.items():
            self._unwritten[key] = more(key[1].kind, self._unwritten.get(key), amount)

    async def close(self) -> None:
        await self.settle()
        await self.flush()

    def _warn(self, event: str, error: StateError) -> None:
        """Say once that lessons cannot be kept: nothing else stops for that."""
        if not self._failed:
            self._failed = True
            log.warning(event, why=str(error), hint=error.hint)
