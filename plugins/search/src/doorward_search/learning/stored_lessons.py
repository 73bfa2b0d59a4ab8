"""The lessons in the store, which any number of processes share: a record for each principal.

It is only a help: what cannot be read is learned anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from doorward.administration import run_in_thread
from doorward.engines import Change, Delete, Notify, Put, Store, retry, scan_all, take_over, update

from doorward_search.learning.lessons import FLOW, FORGOTTEN_SECONDS, WITH, WORD, Amount, Lesson, more

TABLE = "lessons"
"""The table of lessons, by principals; also the topic of their changes."""

LEARNERS = "learners"
"""The table with one record: the principals of whom there are lessons, those last who learned something last."""

EARLIER = "learned.db"

MAX_LESSONS = {WORD: 3000, WITH: 700, FLOW: 700}
"""Lessons of each kind that are kept for a principal."""

MAX_PRINCIPALS = 1000
"""Principals whose lessons are kept."""

_EARLIER = "SELECT principal, kind, subject, object, times, last FROM lessons ORDER BY last"
_Lessons = dict[Lesson, Amount]


class StoredLessons:
    """What was learned of principals. `earlier` is the file in which versions before the store kept it. Raises:
    StateError, from every method."""

    def __init__(self, store: Store, earlier: Path | None = None) -> None:
        self._store, self._earlier = store, earlier

    async def changes(self) -> int:
        """A number that rises with each change, by whatever process."""
        await self._take_over()
        return await self._store.signal(TABLE)

    async def of(self, principal: str) -> tuple[int, Sequence[tuple[Lesson, Amount]]]:
        """The version of what was learned of a principal, 0 if that is nothing; and the lessons."""
        await self._take_over()
        if (found := await self._store.get(TABLE, principal)) is None:
            return 0, []
        return found.version, [*(await run_in_thread(_read, found.value)).items()]

    async def add(self, principal: str, new: Mapping[Lesson, Amount], now: float) -> tuple[int, int]:
        """Add to what was learned of a principal; and remove what is forgotten or too much. Returns: the version to
        which this was added, and that which it made."""
        await self._take_over()

        async def attempt() -> tuple[int, int]:
            found = await self._store.get(TABLE, principal)
            known = _read(found.value) if found else {}
            for lesson, amount in new.items():
                known[lesson] = more(lesson.kind, known.get(lesson), amount)
            before = found.version if found else 0
            put = Put(TABLE, principal, _written(_bounded(known, now)), expected=before, ttl=FORGOTTEN_SECONDS)
            return before, await self._store.commit(put, Notify(TABLE))

        versions = await retry(attempt, TABLE)
        await self._count(principal)
        return versions

    async def _count(self, principal: str) -> None:
        """Note who has learned something last; and forget those who have not for longest, if there are too many."""

        def count(value: bytes | None) -> tuple[bytes | None, list[str]]:
            known = [who for who in json.loads(value or b"[]") if who != principal] + [principal]
            gone, known = known[:-MAX_PRINCIPALS], known[-MAX_PRINCIPALS:]
            written = json.dumps(known).encode()
            return (written if written != value else None), gone

        gone = await update(self._store, LEARNERS, LEARNERS, count, ttl=FORGOTTEN_SECONDS)
        if gone:
            await self._store.commit(*(Delete(TABLE, who) for who in gone), Notify(TABLE))

    async def everything(self) -> Iterable[tuple[str, Lesson, Amount]]:
        """What was learned of all principals, ordered by them; the most frequent of a kind first."""
        await self._take_over()
        found = await scan_all(self._store, TABLE)
        return [
            (record.key, lesson, amount)
            for record in found
            for lesson, amount in sorted(
                _read(record.value).items(), key=lambda each: (each[0].kind, -each[1].times, each[0])
            )
        ]

    async def clear(self, principal: str | None = None) -> int:
        """Forget what was learned of a principal, or all. Returns: how many lessons that were."""
        await self._take_over()
        found = await scan_all(self._store, TABLE, principal or "")
        gone = [each for each in found if principal in (None, each.key)]
        if gone:
            changes: list[Change] = [Delete(TABLE, each.key) for each in gone]
            await self._store.commit(*changes, Notify(TABLE))
        return sum(len(_read(each.value)) for each in gone)

    async def _take_over(self) -> None:
        """Know what an earlier version has learned."""

        def changes(rows: Sequence[Any]) -> list[Change]:
            found: dict[str, _Lessons] = {}
            for principal, kind, subject, object, times, last in rows:
                found.setdefault(principal, {})[Lesson(kind, subject, object)] = Amount(times, last)
            learners = Put(LEARNERS, LEARNERS, json.dumps([*found]).encode(), ttl=FORGOTTEN_SECONDS)
            puts = [Put(TABLE, who, _written(lessons), ttl=FORGOTTEN_SECONDS) for who, lessons in found.items()]
            return [*puts, learners, Notify(TABLE)] if found else []

        if self._earlier is not None:
            await take_over(self._store, self._earlier, _EARLIER, changes, whose=TABLE)
            self._earlier = None


def _bounded(lessons: _Lessons, now: float) -> _Lessons:
    """The last ones of each kind, without those that nothing has confirmed for long."""
    kept: _Lessons = {}
    for kind, most in MAX_LESSONS.items():
        theirs = [each for each in lessons.items() if each[0].kind == kind and not each[1].is_forgotten(now)]
        kept.update(sorted(theirs, key=lambda each: (each[1].last, each[1].times))[-most:])
    return kept


def _read(value: bytes) -> _Lessons:
    return {Lesson(*lesson): Amount(*amount) for *lesson, amount in json.loads(value)}


def _written(lessons: _Lessons) -> bytes:
    return json.dumps([[*lesson, amount] for lesson, amount in lessons.items()], separators=(",", ":")).encode()
