"""What a journal has to store of a run: kept in memory with references only, written when it is to be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING, Any

from doorward import StateError, Wait
from doorward.administration import run_in_thread as off_loop
from doorward.recording import resumed_at
from doorward.values import to_its_end
from doorward_durable_runs.journal.entries import Entry
from doorward_durable_runs.storage.frames import as_json
from doorward_durable_runs.storage.given import Given

if TYPE_CHECKING:
    from doorward import Artefact
    from doorward_durable_runs.plans.change_set import Change
    from doorward_durable_runs.storage.frames import Frame
    from doorward_durable_runs.storage.run_store import RunFile, RunStore

Event = tuple[bytes, Any, int]
"""What will be a frame: its kind, what it is about, and how many calls had begun then."""

_TOO_MUCH = "its answers are more than is stored of one run ([runs] max_bytes)"


class Events:
    """The part of `Journal` that stores what happens. `always`: nothing waits until the run does."""

    __slots__ = (
        "_always", "_bytes", "_count", "_events", "_file", "_files", "_given", "_most", "_store", "_stored", "_storing",
        "_under_way", "stopped", "why_not",
    )  # fmt: skip

    def __init__(self, given: Given, store: RunStore, *, always: bool, most: int) -> None:
        self._given, self._store, self._always, self._most = given, store, always, most
        self._file: RunFile | None = None
        self._count = 0
        self._storing = False
        self._stored: asyncio.Event | None = None
        self._files: set[str] = set()
        self._events: list[Event] = []
        self._under_way: dict[int, Entry] = {}
        self._bytes = 0
        self.stopped = False
        """Whether a call was not made for a reason that passes, a full disk for example: its run ends there, and can be
        resumed."""
        self.why_not = ""
        """Why this run cannot be resumed; empty if it can. If it is durable, that its calls are made is stored all the
        same, without their answers."""

    @property
    def expires(self) -> float:
        """When what is stored of this run is forgotten, in seconds since the epoch."""
        return self._given.expires

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

    def schema(self, function: str, schema_hash: str) -> None:
        """The program calls a function for the first time, which is such a one now."""
        if not self.why_not:
            self._events.append((b"D", {"f": function, "h": schema_hash}, 0))

    def read_times(self, times: Sequence[float]) -> None:
        """What the program newly read from its clocks."""
        if times and not self.why_not:
            self._events.append((b"T", {"v": [*times]}, 0))

    def forget_times(self) -> None:
        """The program starts from the beginning, in another executor; it has made no call yet."""
        self._events = [event for event in self._events if event[0] != b"T"]

    @property
    def _resumable(self) -> bool:
        """Whether what is stored can be resumed: nothing in the file says that it cannot."""
        return not self.why_not or any(kind == b"L" for kind, _, _ in self._events)

    # What undoes its calls

    def before(self, place: int) -> tuple[Any] | None:
        """What was there before a call, if that was read before its run was resumed: afterwards the call may have been
        made, and what is there now is no longer what was there before."""
        return self._under_way[place].before

    async def read_before(self, place: int, value: Any) -> None:
        """Keep what is there before a call, which goes out next. Raises: StateError."""
        entry = self._under_way[place]
        entry.before = (value,)
        if not self.why_not:
            self._events.append((b"V", entry, 0))
            if self._always:
                await self._flush_before(entry)

    def undone_by(self, place: int, said: Mapping[str, Any]) -> None:
        """Keep what undoes a call: it is stored with its answer."""
        self._under_way[place].undo = said
        self.holds(len(as_json(said)))

    # Its file

    async def suspend(self, waits: Sequence[Wait], parked: Collection[int] = ()) -> None:
        """Store a run that waits, and let go of it. Of a call under way that is not `parked`, nobody knows whether it
        was made. Raises: StateError, and then it cannot be resumed."""
        said = {"for": waits[0].for_, "what": [*dict.fromkeys(each.what for each in waits)], "at": time.time()}
        said |= {"until": until} if (until := resumed_at(waits)) else {}
        for place, entry in self._under_way.items():
            if (place in parked and not entry.was_sent) or (entry.before and not entry.sent):
                self._events.append((b"U", entry, 0))
        self._events.append((b"W", said, 0))
        try:
            await self._flush()
        except StateError as error:
            await self.close()
            then = "It cannot be resumed: what it did, see `calls`, is done."
            if self._always:
                then = f'Then resume_run("{self._given.run}") goes on; no write is made twice.'
            hint = " ".join(filter(None, [error.hint, then]))
            raise StateError(f"this run has to wait, and that cannot be stored: {error.message}", hint=hint) from None
        await self._let_go()

    async def plan(self, changes: Sequence[Change]) -> None:
        """Store a plan that is complete, and let go of it. Raises: StateError, and then it cannot be committed."""
        if self.why_not:
            raise StateError(f"this plan cannot be committed: {self.why_not}")
        self._events += [(b"P", change, 0) for change in changes]
        writes = sum(change.number > 0 for change in changes)
        await self.suspend([Wait("plan", f"a plan of {writes} {'write' if writes == 1 else 'writes'}")])

    async def close(self, **why: Any) -> None:
        """Let go of the file. If that has no end yet, the run was interrupted: its client left, or Doorward was
        stopped, unless `what` says why. It can be resumed, and is not taken for one whose process died."""
        if self._file is None:
            self._events.clear()
        else:
            await to_its_end(self._interrupt(why))

    async def _interrupt(self, why: Mapping[str, Any]) -> None:
        interrupted = (b"I", {"at": time.time(), **why}, 0)
        events = self._events if self._always and not self.why_not else []
        for each in ([*events, interrupted], [interrupted]):  # the disk may have room for the second
            self._events = each
            with suppress(StateError):
                await self._flush()
                break
        await self._let_go()

    async def _let_go(self) -> None:
        self._events.clear()
        file, self._file = self._file, None
        if file is not None:
            await file.close()

    async def _flush(self) -> None:
        """Store what is not stored yet, once what others are storing is. Raises: StateError."""
        from doorward_durable_runs.journal.writing import frame

        while self._storing:
            self._stored = self._stored or asyncio.Event()
            await self._stored.wait()
        if self._file is not None and not self._events:
            return
        self._storing = True
        events: list[Event] = []
        try:
            events, self._events = self._events, []
            made = starmap(frame, events)
            frames = [*made] if self._always else await off_loop(list, made)
            if self._file is None:
                await to_its_end(self._create(frames))
            else:
                await self._file.append(frames)
            self._count = self._file.count if self._file is not None else 0
        except BaseException:
            count = 0 if self._file is None else self._file.count
            if count == self._count:  # whoever is cancelled may have stored them
                self._events = [*events, *self._events]  # the next try stores them, or sends nothing
            self._count = count
            raise
        finally:
            self._storing = False
            if self._stored is not None:
                self._stored.set()
                self._stored = None

    async def _create(self, frames: Sequence[Frame]) -> None:
        self._file = await self._store.create(replace(self._given, at_once=not self._always), frames)

    async def _flush_before(self, entry: Entry) -> None:
        """Store what is known of a call before it is made. Raises: StateError; then it is not, and the run ends."""
        try:
            await self._flush()
        except StateError as error:
            raise self._not_made(entry, f"nothing can be stored before: {error.message}", error.hint) from None

    def _not_made(self, entry: Entry, why: str, hint: str | None) -> StateError:
        self.stopped = True
        before, then = "No call of this run was made.", "Then run the program again."
        if self._file is not None:
            before = "The calls before it were made, see `calls`."
            then = f'Then resume_run("{self._given.run}") goes on from here; no write is made twice.'
            if not self._resumable:
                then = f"This run cannot be resumed: {self.why_not}. Run again, its program would repeat these calls."
        hint = " ".join(filter(None, [before, hint, then]))
        return StateError(f"{entry.function} was not called, because {why}", hint=hint)

    def lose(self, why: str) -> None:
        """The run cannot be resumed from here on. What is stored of a durable one says so, and goes on to say which
        calls are made: a write that nobody knows of would be made again by whoever runs the program again."""
        if self.why_not:
            return
        self.why_not = why
        if not self._always:
            self._events.clear()
            return
        self._events.append((b"L", {"why": why}, 0))  # it is stored before the next write, or that is not sent
