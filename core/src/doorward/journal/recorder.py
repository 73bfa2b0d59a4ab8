"""The journal of one run: it records the calls of a program, and answers them when the program runs again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from doorward.data.offload import done, is_large
from doorward.host.logs import log
from doorward.journal.entries import Entry, Recorded
from doorward.journal.given import Given
from doorward.journal.writing import ended, frame
from doorward.model.calls import Reply
from doorward.model.errors import DoorwardError, OutcomeUnknown, ProgramDiverged, ServerError, StateError

if TYPE_CHECKING:
    from doorward.journal.replay import StoredJournal
    from doorward.journal.store import RunFile, RunStore
    from doorward.model.calls import Call
    from doorward.model.outcomes import Artefact, Awaited

Event = tuple[bytes, Any, int]
"""What will be a frame: its kind, what it is about, and how many calls had begun then."""


_TOO_MUCH = "its answers are more than is stored of one run ([runs] max_bytes)"


class JournaledRun(Protocol):
    """A run, as its journal knows it."""

    @property
    def suspension(self) -> Suspends: ...

    def replayed(self, entry: Entry) -> None:
        """A recorded call was made again, and is answered from the journal."""

    def used(self, function: str) -> Mapping[str, float]:
        """What the run has used of the server of a function."""


class Suspends(Protocol):
    """How a run waits, or ends."""

    @property
    def possible(self) -> bool: ...

    async def wait(self, for_: Awaited, what: str) -> NoReturn: ...

    def fail(self, error: DoorwardError) -> None: ...


class Journal:
    """Records a run: in memory, with references only, until the run has to wait; or, if it is `always` durable, in its
    file before and after each call. A run that goes on after a wait is always durable."""

    __slots__ = (
        "_always", "_begun", "_bytes", "_events", "_file", "_files", "_given", "_most", "_offline", "_places",
        "_recorded", "_shut", "_store", "_under_way", "times", "why_not",
    )  # fmt: skip

    def __init__(self, given: Given, store: RunStore, *, always: bool, most: int) -> None:
        self._given, self._store, self._always, self._most = given, store, always, most
        self._file: RunFile | None = None
        self._files: set[str] = set()
        self._recorded = Recorded((), ())
        self._events: list[Event] = []
        self._under_way: dict[int, Entry] = {}
        self._places = self._begun = self._bytes = 0
        self._shut = self._offline = False
        self.times: list[float] = []
        """What the program read from its clocks before it was resumed."""
        self.why_not = ""
        """Why this run cannot be resumed; empty if it can."""

    @property
    def expires(self) -> float:
        """When what is stored of this run is forgotten, in seconds since the epoch."""
        return self._given.expires

    def go_on(self, file: RunFile, stored: StoredJournal) -> None:
        """Answer the calls of a program that runs again with those of a stored run. Raises: StateError."""
        self._file, self._always, self._places = file, True, len(stored.entries)
        self._recorded, self.times = Recorded(stored.entries, stored.ends), stored.times
        self._files.update(kept.uri for kept, _, _ in stored.files)
        self._bytes = stored.bytes
        self._events.append((b"R", {"at": time.time()}, 0))
        self._flush()

    def play(self, stored: StoredJournal, patience: float) -> None:
        """Answer the calls of a program from a stored run, and no others: nothing is sent, and nothing stored."""
        self._recorded, self.times = Recorded(stored.entries, stored.ends, patience), stored.times
        self._offline, self.why_not = True, "it is a replay"

    # A call

    async def call(
        self,
        run: JournaledRun,
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
        except ProgramDiverged as error:
            run.suspension.fail(error)
            raise
        if entry.ended:
            return await self._again(run, entry)
        started = time.perf_counter()
        self._under_way[entry.place] = entry
        try:
            reply = await make(entry.place)
        except DoorwardError as error:
            await self._end(entry, None, error, started, run.used(function))
            raise
        await self._end(entry, reply, None, started, run.used(function))
        return reply

    async def _begin(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], more: tuple[str, bool], *, large: bool
    ) -> Entry:
        self._begun += 1
        entry = Entry(0, function, args, kwargs, more)
        if self._always or large or self._offline:
            await done(entry.read, large=large)
        if self._recorded.left or self._offline:
            found = self._recorded.claim(entry.key)
            self._recorded.advance(self._begun)
            if self._offline and (found is None or not found.ended):
                hint = "A replay sends nothing. What was recorded: doorward runs show ID"
                raise ServerError(f"the run has no answer to this call: {entry.text}", hint=hint)
            if found is None:
                raise self._diverged(entry)
            return found
        self._recorded.advance(self._begun)
        entry.place, self._places = self._places, self._places + 1
        if not self.why_not:
            self._events.append((b"B", entry, 0))
            if self._always and self._file is None:
                self._flush()
        return entry

    async def _again(self, run: JournaledRun, entry: Entry) -> Reply:
        await self._recorded.turn(entry)
        run.replayed(entry)
        if entry.error is not None:
            raise entry.error
        assert entry.reply is not None
        return entry.reply

    async def sending(self, call: Call, suspends: Suspends, known: Callable[[], bool]) -> None:
        """A call goes out that may not be repeated: in a durable run, not before that is stored.

        Raises: StateError if it cannot be; OutcomeUnknown, LimitExceeded for a call that went out before the run was
        resumed, and may have been made.
        """
        entry = self._under_way[call.place]
        if entry.sent and entry.again is not True and not known():
            await self._unknown(entry, suspends)
        entry.sent, entry.again = True, None
        if self._shut:
            raise StateError(f"nothing more is sent: {self.why_not}", hint="Run the program anew, later.")
        if not self.why_not:
            self._events.append((b"S", entry, 0))
            if self._always:
                self._flush()

    def waits(self, place: int, waits: bool) -> None:
        """A call that went out was not made: it waits with its run; or it goes on. Of any other that is under way when
        the run is suspended nobody knows whether it was made."""
        self._under_way[place].waits = waits

    async def _unknown(self, entry: Entry, suspends: Suspends) -> None:
        if entry.again is None and suspends.possible:
            lost = f"call {entry.place} was sent and its answer lost, so it may have been made: {entry.text}"
            ask = f"doorward runs resume {self._given.run} --call {entry.place} --unknown repeat|fail"
            await suspends.wait("unknown", f"{lost}; a person looks, then: {ask}")
        raise OutcomeUnknown(
            f"whether this call of {entry.function} was made is unknown: it was sent, and its answer was lost",
            hint="Read what is there before you make it again.",
        )

    async def _end(
        self, entry: Entry, reply: Reply | None, error: DoorwardError | None, started: float, used: Mapping[str, float]
    ) -> None:
        """A call has ended: in a durable run that is stored before the program is told."""
        entry.reply, entry.error, entry.used = reply, error, used
        entry.ms = (time.perf_counter() - started) * 1000
        self._under_way.pop(entry.place, None)
        self.holds(200)
        if self.why_not:
            return
        if not self._always:
            entry.begun = self._begun
            self._events.append((b"E", entry, self._begun))
            return
        try:
            said = await done(ended, entry, large=reply is not None and is_large(reply.value))
            self._events.append((b"E", said, self._begun))
            self._flush()
        except StateError as error:
            self.lose(error.message)

    # What else is in it

    def holds(self, size: int) -> None:
        """So many bytes more would be stored."""
        self._bytes += size
        if self._bytes > self._most and not self.why_not:
            self.lose(_TOO_MUCH)

    def file(self, kept: Artefact, content: str | bytes, *, is_text: bool) -> None:
        """A file that an answer or the program has left, or that the program opens."""
        if kept.uri in self._files:
            return
        self._files.add(kept.uri)
        self.holds(kept.bytes * 4 // 3)
        if not self.why_not:
            self._events.append((b"F", (kept, content, is_text), 0))

    def seen(self, times: Sequence[float]) -> None:
        """What the program newly read from its clocks."""
        if times and not self.why_not:
            self._events.append((b"T", {"v": [*times]}, 0))

    def forget_times(self) -> None:
        """The program starts from the beginning, in another executor; it has made no call yet."""
        self._events = [event for event in self._events if event[0] != b"T"]

    # The run

    def suspend(self, awaited: Sequence[tuple[Awaited, str]], until: int) -> None:
        """Store a run that waits, `until` some time if that is known, and let go of it. Raises: StateError, and then it
        cannot be resumed."""
        waits = {"for": awaited[0][0], "what": [*dict.fromkeys(line for _, line in awaited)], "at": time.time()}
        waits |= {"until": until} if until else {}
        for entry in self._under_way.values():
            if entry.sent and entry.waits:
                self._events.append((b"U", entry, 0))
        self._events.append((b"W", waits, 0))
        try:
            self._flush()
        finally:
            self.close()

    def over(self, *, ok: bool) -> None:
        """The run has ended: what is stored of it is kept for those who ask what happened."""
        if self._file is not None:
            self._events.append((b"O", {"ok": ok, "at": time.time()}, 0))
            try:
                self._flush()
            except StateError as error:
                log.warning("journal_not_written", run=self._given.run, why=error.message)
        self.close()

    def close(self) -> None:
        """Let go of the file: without an end in it, the run can be resumed."""
        self._events.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _flush(self) -> None:
        if self._file is None:
            self._file = self._store.create(self._given)
        events, self._events = self._events, []
        self._file.append([frame(*event) for event in events])

    def lose(self, why: str) -> None:
        """The run cannot be resumed from here on. What is stored says so; else nothing more that may not be repeated is
        sent, because whoever resumes the run would send it again."""
        if self.why_not:
            return
        self.why_not = why
        self._events.clear()
        if self._file is not None:
            try:
                self._file.append([(b"L", {"why": why})])
            except StateError:
                self._shut = True

    def _diverged(self, entry: Entry) -> ProgramDiverged:
        return ProgramDiverged(
            f"the program behaved differently when it ran again: its call was\n{self._recorded.next().text}\n"
            f"and is now\n{entry.text}",
            hint="Nothing was sent. Run it anew; what it does must not hang on the time, on chance or on a file.",
        )
