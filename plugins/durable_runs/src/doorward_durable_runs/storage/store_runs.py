"""Journals in the store: of each run a log with its frames, and a record that says what became of it.

Whoever holds a run appends to the end of its log as they know it, and whoever takes it appends first: so one who was
taken for dead, and goes on, can store nothing more, and sends nothing. A list reads records alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import NoReturn

from doorward import ConfigError, StateError, UnknownName, log
from doorward.administration import json_digest as digest
from doorward.administration import run_in_thread as off_loop
from doorward.engines import Append, Change, Conflict, Delete, Forget, Put, Record, Store, scan_all
from doorward.values import to_its_end
from doorward_durable_runs.sealing import Box, Sealing, shared_salt
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.storage import frames
from doorward_durable_runs.storage.earlier_files import EarlierFiles
from doorward_durable_runs.storage.frames import Frame
from doorward_durable_runs.storage.given import Given
from doorward_durable_runs.storage.holders import Holder
from doorward_durable_runs.storage.run_store import Place, RunFile, StoredRun
from doorward_durable_runs.storage.summaries import KINDS, RELEASING, Head, Summary

TABLE = "runs"
"""The table of what became of runs. A key begins with whose run it is, and of which program."""

BY_TIME = "runs by time"
"""The table of the keys of runs, the newest first: of all of them, and of each principal."""

_ALL = "all"
_LAST_MS = 10**14 - 1
_CHANGES_AT_ONCE = 500

_FRAMES_AT_ONCE = 20
"""More of them are sealed in a thread."""

_PAGE = 1000
_RUN = re.compile(r"[0-9a-f]{16}")

_HINT = "Tell the operator: can the store be written, and has its disk room?"

_UNREAD_HINT = (
    "Was vault_key changed? Set vault_key_before to the key that it was. Until then an agent that sends a program "
    "again is not told what it had written."
)


class StoreRuns:
    """A `RunStore` of any number of processes. `key` reveals the `vault_key`, `before` the one before that; `folder`
    has the files of versions before this one."""

    def __init__(
        self,
        store: Store,
        settings: RunSettings,
        key: Callable[[], str] | None = None,
        folder: Path | None = None,
        before: Callable[[], str] | None = None,
    ) -> None:
        self.store, self.settings, self.holder = store, settings, Holder(store)
        self._key, self._before = key, before
        self._earlier = None if folder is None else EarlierFiles(folder, key, settings.keep * 3600, before)
        self._sealing: Sealing | None = None
        self._opening = asyncio.Lock()
        self._any = self._mended = False
        self.swept = 0
        """How many runs the last sweep of all has read."""
        self._room: dict[str, int] = {}
        self._due: set[str] = set()
        self._sweeping: asyncio.Task[None] | None = None

    async def create(self, given: Given, frames: Sequence[Frame] = ()) -> RunFile:
        return await to_its_end(self._create(given, frames), lambda made: made.close())

    async def _create(self, given: Given, frames: Sequence[Frame]) -> RunFile:
        await self._ready()
        await self.holder.hold(given.run)
        held = _Held(self, self._key_of(given), Summary(given, self.holder.name))
        try:
            await held.append([(b"H", asdict(given)), *frames])
        except BaseException:
            self.holder.let_go(given.run)
            raise
        self._any = True
        self._sweep_soon(given.principal, new=1)
        return held

    async def claim(self, run: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        return await to_its_end(self._claim(run, principal), lambda claimed: claimed[0].close())

    async def _claim(self, run: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        summary, found, entries, record = await self._read(run, principal)
        if await self.holder.lives(summary.holder, run):
            raise _running(run)
        stored = summary.stored(running=False, frames=found, size=sum(map(len, entries)))
        await self.holder.hold(run)
        mine = replace(summary, holder=self.holder.name)
        held = _Held(self, record.key, mine, len(entries), record.version)
        try:
            await held.take(summary.holder)
        except BaseException:
            self.holder.let_go(run)
            raise
        return held, stored

    async def show(self, run: str, principal: str | None = None) -> StoredRun:
        summary, found, entries, _ = await self._read(run, principal)
        running = await self.holder.lives(summary.holder, run)
        return summary.stored(running=running, frames=found, size=sum(map(len, entries)))

    async def look(self) -> None:
        earlier = self._earlier is not None and await off_loop(self._earlier.any)
        self._any = self._any or earlier or bool(await self.store.scan(TABLE, limit=1))

    def any(self) -> bool:
        return self._any

    async def all(self, principal: str | None = None) -> list[StoredRun]:
        records = await self._records(principal)
        living = await self._living(await off_loop(_heads, records))
        found = [each for each in await off_loop(self._listed, records, living) if each is not None]
        theirs = [each for each in found if principal is None or each.given.principal == principal]
        return sorted(theirs, key=lambda each: each.given.created, reverse=True)

    async def page(
        self, principal: str | None = None, *, before: Place | None = None, limit: int = 100
    ) -> tuple[list[StoredRun], Place | None]:
        await self._ready()
        prefix = f"{_ALL if principal is None else _whose(principal)}-"
        after = None if before is None else prefix + _place(*before)
        places = await self.store.scan(BY_TIME, prefix, after=after, limit=limit)
        read = [await self.store.get(TABLE, each.value.decode()) for each in places]
        records = [each for each in read if each is not None]
        found = [
            each
            for each in await off_loop(self._listed, records, await self._living(await off_loop(_heads, records)))
            if each is not None
        ]
        theirs = [each for each in found if principal is None or each.given.principal == principal]
        return theirs, _place_of(places[-1].key) if len(places) == limit else None

    async def equal(self, given: Given) -> list[StoredRun]:
        await self._ready()
        found: list[StoredRun] = []
        prefixes = [each.removesuffix(given.run) for each in self._keys_of(given)]
        records = [record for prefix in prefixes for record in await scan_all(self.store, TABLE, prefix)]
        living = await self._living(await off_loop(_heads, records))
        for each in records:
            with suppress(UnknownName, StateError):
                head = Head.of(each.value)
                if head.run != given.run and not head.ended and not self._is_held(head, living):
                    found.append(await self.show(head.run))
        return found

    async def unread(self) -> int:
        return (await off_loop(self._listed, await self._records(None), ())).count(None)

    async def remove(self, run: str, principal: str | None = None) -> None:
        summary, _, _, record = await self._read(run, principal)
        if await self.holder.lives(summary.holder, run) or not await self._removed(run, record):
            raise _running(run)

    async def sweep(self, principal: str | None = None) -> None:
        mends = principal is None and not self._mended
        placed = await scan_all(self.store, BY_TIME) if mends else ()  # first: a run that is new since is in both
        records, theirs = await self._records(principal), dict[str, list[tuple[float, Head, Record]]]()
        heads = await off_loop(_heads, records)
        living = await self._living(heads)
        if principal is None:
            self._any, self._room, self.swept = bool(records), {}, len(records)
        if mends:
            await self._mend(placed, records)
            self._mended = True
            if unread := (await off_loop(self._listed, records, ())).count(None):
                log.warning("stored_runs_unread", runs=unread, hint=_UNREAD_HINT)
        for head, record in heads:
            with suppress(StateError):
                held = self._is_held(head, living)
                if held or head.expires > time.time() or not await self._removed(head.run, record):
                    theirs.setdefault(record.key.partition("-")[0], []).append((head.created, head, record))
        for whose, runs in theirs.items():
            left = [(head, record) for _, head, record in sorted(runs, key=lambda each: each[0])]
            for ended in (True, False):
                for head, record in left[:] if len(left) > self.settings.most else ():
                    is_next = len(left) > self.settings.most and head.ended == ended
                    if is_next and not self._is_held(head, living) and await self._removed(head.run, record):
                        left.remove((head, record))
                        if not ended:
                            self._log_forgotten(head, record)
            self._room[whose] = max(0, self.settings.most - len(left)) // 2  # others store runs of theirs, too

    async def _mend(self, placed: Sequence[Record], records: Sequence[Record]) -> None:
        """Let each run have its places by time, and no other: versions before this one gave it none."""
        changes = await off_loop(_mending, placed, records)
        for start in range(0, len(changes), _CHANGES_AT_ONCE):
            await self.store.commit(*changes[start : start + _CHANGES_AT_ONCE])

    async def close(self) -> None:
        """Tell others that this process holds nothing any more."""
        if self._sweeping is not None and not self._sweeping.done():
            self._sweeping.cancel()
            await asyncio.wait([self._sweeping])
        await self.holder.close()

    def box(self, run: str) -> Box:
        """What seals a run."""
        assert self._sealing is not None
        return self._sealing.box(f"run {run}")

    def over(self, principal: str) -> None:
        """A run of theirs is held no more: there may be one too many."""
        self._sweep_soon(principal)

    async def _ready(self) -> None:
        """Know what seals, and take over what an earlier version has stored. Raises: StateError, ConfigError."""
        if self._sealing is None or self._earlier is not None:
            async with self._opening:
                if self._sealing is None:
                    salt = await shared_salt(self.store, TABLE) if self._key is not None else b""
                    sealing = Sealing(self._key, salt, "runs", '; or set [runs] durable = "never"', self._before)
                    await off_loop(sealing.box, "programs")
                    self._sealing = sealing
                if self._earlier is not None:
                    await self._earlier.take_over(self._adopt)
                    self._earlier = None

    async def _adopt(self, given: Given, frames: Sequence[Frame]) -> None:
        """Store a run that an earlier version has stored in a file, unless it is here."""
        summary, box = Summary(given).after(frames), self.box(given.run)
        entries = await off_loop(_packed, frames, 0, box)
        key = self._key_of(given)
        put = Put(TABLE, key, summary.packed(box), expected=0)
        with suppress(Conflict):
            await self.store.commit(put, *_put_places(key, given), Append(_log(given.run), entries, 0), sync=True)
        self._any = True

    async def _read(self, run: str, principal: str | None) -> tuple[Summary, Sequence[Frame], Sequence[bytes], Record]:
        """A run with its frames. Raises: UnknownName, StateError."""
        if not _RUN.fullmatch(run):
            raise _unknown(run)
        await self._ready()
        entries: list[bytes] = []
        while page := await self.store.read(_log(run), len(entries), limit=_PAGE):
            entries += page
            if len(page) < _PAGE:
                break
        if not entries:
            raise _unknown(run)
        found, summary = await off_loop(_unpacked, entries, self.box(run), run)
        if summary is None or (principal is not None and summary.given.principal != principal):
            raise _unknown(run)
        for key in self._keys_of(summary.given):
            if (record := await self.store.get(TABLE, key)) is not None:
                return replace(summary, holder=Head.of(record.value).holder), found, entries, record
        raise _unknown(run)  # whoever had it has just removed it

    async def _records(self, principal: str | None) -> Sequence[Record]:
        await self._ready()
        return await scan_all(self.store, TABLE, "" if principal is None else f"{_whose(principal)}-")

    def _listed(self, records: Sequence[Record], living: Collection[str]) -> list[StoredRun | None]:
        """The runs of records, without their frames; `None` for each that cannot be read, or is a copy of another."""
        found: list[StoredRun | None] = []
        for record in records:
            try:
                head = Head.of(record.value)
                summary = Summary.unpacked(record.value, self.box(head.run))
                is_it = record.key.endswith(f"-{summary.given.run}") and head.run == summary.given.run
                found.append(summary.stored(running=self._is_held(head, living)) if is_it else None)
            except StateError:
                found.append(None)
        return found

    async def _living(self, heads: Sequence[tuple[Head, Record]]) -> Collection[str]:
        """Who holds runs; nobody is asked for where none is held."""
        if any(head.holder not in ("", self.holder.name) for head, _ in heads):
            return await self.holder.living()
        return ()

    def _is_held(self, head: Head, living: Collection[str]) -> bool:
        return head.run in self.holder.held if head.holder == self.holder.name else head.holder in living

    async def _removed(self, run: str, record: Record) -> bool:
        """Remove a run, unless somebody was quicker. Returns: whether it is gone."""
        places = [Delete(BY_TIME, place) for place in _places(record.key, Head.of(record.value).created)]
        try:
            await self.store.commit(Delete(TABLE, record.key, expected=record.version), Forget(_log(run)), *places)
        except Conflict:
            return False
        return True

    def _log_forgotten(self, head: Head, record: Record) -> None:
        principal = ""
        with suppress(StateError):
            principal = Summary.unpacked(record.value, self.box(head.run)).given.principal
        hint = "It had not ended. [runs] most says how many are kept of a principal."
        log.warning("run_forgotten", run=head.run, principal=principal, most=self.settings.most, hint=hint)

    def _sweep_soon(self, principal: str, new: int = 0) -> None:
        """Have the runs of a principal swept soon, if they may be too many."""
        whose = _whose(principal)
        if (room := self._room.get(whose, 0)) > 0:
            self._room[whose] = room - new
            return
        self._due.add(principal)
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep_due())

    async def _sweep_due(self) -> None:
        while self._due:
            try:
                await self.sweep(self._due.pop())
            except (StateError, ConfigError) as error:
                log.warning("runs_not_swept", why=error.message)

    def _key_of(self, given: Given) -> str:
        """The key of a run. Those of equal programs of a principal begin alike."""
        return self._keys_of(given)[0]

    def _keys_of(self, given: Given) -> Sequence[str]:
        """The keys under which a run may be stored: one for each key that opens it."""
        assert self._sealing is not None
        hashes = self._sealing.box("programs").all_keyed(digest(given.code, given.language, given.params, *given.argv))
        return [f"{_whose(given.principal)}-{program[:12]}-{given.run}" for program in hashes]


class _Held:
    """A `RunFile` that this process holds, unless it was taken for dead."""

    def __init__(self, runs: StoreRuns, key: str, summary: Summary, count: int = 0, version: int = 0) -> None:
        self._runs, self._key, self._summary, self._version = runs, key, summary, version
        self._box, self._log = runs.box(summary.given.run), _log(summary.given.run)
        self._tried: tuple[Sequence[Frame], Sequence[bytes]] | None = None
        self.count = count

    async def append(self, frames: Sequence[Frame]) -> int:
        await to_its_end(self._append(frames))
        return self.count

    async def take(self, holder: str) -> None:
        """Take the run from whoever had it, who can append nothing from now on. Raises: StateError if they live."""
        entries = _packed([(b"K", {"at": time.time()})], self.count, self._box)
        taken = self._runs.holder.taken_from(holder)
        try:
            await self._commit(self._summary, entries, *taken)
        except Conflict:
            raise _running(self._summary.given.run) from None

    async def close(self) -> None:
        await self._runs.holder.release(self._summary.given.run, self._release)
        self._runs.over(self._summary.given.principal)

    async def _append(self, frames: Sequence[Frame]) -> None:
        if not (frames := await self._not_stored(frames)):
            return
        if len(frames) > _FRAMES_AT_ONCE:
            entries = await off_loop(_packed, frames, self.count, self._box)
        else:
            entries = _packed(frames, self.count, self._box)
        summary = self._summary.after(frames)
        holder = "" if frames[-1][0] in RELEASING else self._runs.holder.name
        summary = replace(summary, holder=holder) if any(kind in KINDS for kind, _ in frames) else summary
        try:
            await self._commit(summary, entries)
        except Conflict:
            self._lost()
        except StateError as error:
            self._tried = frames, entries
            raise StateError(
                f"the journal of the run {summary.given.run} cannot be written: {error.message}", hint=_HINT
            ) from None

    async def _commit(self, summary: Summary, entries: Sequence[bytes], *changes: Change) -> None:
        """Store entries, and the summary if it is another one. Raises: StateError."""
        is_new = summary != self._summary or not self._version or entries[0][:1] == b"K"
        put = [Put(TABLE, self._key, summary.packed(self._box), expected=self._version)] if is_new else []
        if not self._version:
            put += _put_places(self._key, summary.given)
        append = Append(self._log, entries, self.count)
        version = await self._runs.store.commit(*put, append, *changes, sync=self._runs.settings.sync)
        self.count += len(entries)
        self._summary, self._version = summary, version if put else self._version

    async def _not_stored(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        """Those that are not stored yet: the connection to the store may have been lost just when others were."""
        if self._tried is None:
            return frames
        tried, entries = self._tried
        found = await self._runs.store.read(self._log, self.count, limit=len(entries) + 1)
        if [*found] == [*entries]:
            record = await self._runs.store.get(TABLE, self._key)
            if record is None:
                self._lost()
            self.count += len(entries)
            self._summary, self._version = Summary.unpacked(record.value, self._box), record.version
            frames = frames[len(tried) :] if [*frames[: len(tried)]] == [*tried] else frames
        self._tried = None
        return frames

    async def _release(self) -> None:
        if self._summary.holder:
            summary = replace(self._summary, holder="")
            put = Put(TABLE, self._key, summary.packed(self._box), expected=self._version)
            with suppress(Conflict):  # somebody else has it
                self._version = await self._runs.store.commit(put, sync=self._runs.settings.sync)
            self._summary = summary

    def _lost(self) -> NoReturn:
        raise StateError(
            f"the run {self._summary.given.run} was taken over: its process was silent for too long",
            hint=f'resume_run("{self._summary.given.run}") says what became of it.',
        )


def _packed(said: Sequence[Frame], count: int, box: Box) -> list[bytes]:
    return [frames.packed(kind, what, place, box) for place, (kind, what) in enumerate(said, count)]


@frames.understood()
def _unpacked(entries: Sequence[bytes], box: Box, run: str) -> tuple[Sequence[Frame], Summary | None]:
    """The frames of a log, and what they say of the run; nothing if they are of another one. Raises: StateError."""
    found = [frames.unpacked(entry, place, box) for place, entry in enumerate(entries)]
    kind, said = found[0]
    if kind != b"H" or said.get("run") != run:
        return found, None
    return found, Summary(Given.read(said)).after(found)


def _log(run: str) -> str:
    return f"{TABLE} {run}"


def _places(key: str, created: float) -> tuple[str, str]:
    """Where a run stands by time: among all, and among those of its principal."""
    place = _place(created, key.rpartition("-")[2])
    return f"{_ALL}-{place}", f"{key.partition('-')[0]}-{place}"


def _heads(records: Sequence[Record]) -> list[tuple[Head, Record]]:
    """What can be read of records; what cannot is left out."""
    found: list[tuple[Head, Record]] = []
    for record in records:
        with suppress(StateError):
            found.append((Head.of(record.value), record))
    return found


def _mending(placed: Sequence[Record], records: Sequence[Record]) -> list[Change]:
    wanted = {place: record.key for head, record in _heads(records) for place in _places(record.key, head.created)}
    known = {each.key for each in placed}
    changes: list[Change] = [Put(BY_TIME, place, wanted[place].encode()) for place in wanted.keys() - known]
    return [*changes, *(Delete(BY_TIME, place) for place in known - wanted.keys())]


def _put_places(key: str, given: Given) -> list[Put]:
    return [Put(BY_TIME, place, key.encode()) for place in _places(key, given.created)]


def _place(created: float, run: str) -> str:
    return f"{max(0, _LAST_MS - round(created * 1000)):014d}-{run}"


def _place_of(key: str) -> Place:
    _, place, run = key.split("-")
    return (_LAST_MS - int(place)) / 1000, run


def _whose(principal: str) -> str:
    return hashlib.sha256(principal.encode()).hexdigest()[:12]


def _running(run: str) -> StateError:
    return StateError(f"the run {run} is running", hint="Ask again in a moment: then it has ended, or waits.")


def _unknown(run: str) -> UnknownName:
    return UnknownName(
        f"there is no stored run {run[:40]!r}", hint="Runs are kept for a while only, and belong to one principal."
    )
