"""The programs of `run_cached_code` in the store, which all processes share.

A program is kept for `ttl` seconds after it was last put or got; if there are more than `max_entries`, those unused for
longest are deleted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import Settings, StateError
from doorward.engines import Change, Conflict, Delete, MemoryStore, Put, Record, Store, retry, scan_all, take_over
from doorward.sandboxing import CachedProgram
from pydantic import Field, PositiveFloat, PositiveInt

from doorward_cache_sqlite.programs import program_of, text_of
from doorward_cache_sqlite.saves_programs import SAVES, Draft, SavesPrograms

if TYPE_CHECKING:
    from doorward import PluginContext

PLUGIN_API = 1

__all__ = ["SAVES", "Draft", "SavesPrograms", "SqliteCache", "SqliteSettings"]

TABLE = "programs"
"""The table of programs. A key is a principal as JSON, and the id of a program."""

USES = "program uses"
"""The table of what is known of programs without reading them: as JSON, whose each is, its id, and when it was used. A
key is a principal as JSON, and the digest of a program."""

CLOSE_WAIT_SECONDS = 1.0
"""How long the end waits for programs that are being written, if the store is busy."""

BATCH_SECONDS = 0.02
"""The pause after programs were written; those that are put meanwhile are written together."""

MAX_BATCH = 200
"""Programs that are written together."""

SURPLUS = 1 / 20
"""The programs may be this much more than `max_entries`, for each process, until it looks how many they are."""

_EARLIER = "SELECT principal, cache_id, digest, used, program FROM programs ORDER BY used"


class SqliteSettings(Settings):
    """`[caches.sqlite]`"""

    path: Path | None = Field(
        None, description="The file in which versions before the store kept programs; programs.db if not given"
    )
    ttl: PositiveFloat = Field(3600.0, description="Seconds a program is kept after it was last put or got")
    max_entries: PositiveInt = Field(500, description="Programs kept, of all principals together")


@dataclass(slots=True)
class _Put:
    """A program to write: as JSON, when it was put, and who waits for its id. One that was got is written again."""

    principal: str
    digest: str
    id: str
    text: bytes
    used: float
    kept: asyncio.Future[str] | None = None


class SqliteCache:
    """A `doorward.Cache`. (It has the name of the engine in which most stores lie.)"""

    Settings = SqliteSettings

    def __init__(self, context: PluginContext[SqliteSettings], *, clock: Callable[[], float] = time.time) -> None:
        self._settings, self._clock = context.settings, clock
        self._store: Store = context.store or MemoryStore()
        earlier = (context.settings.path or context.state / "programs.db").expanduser()
        self._earlier: Path | None = context.folder / earlier
        self._waiting: list[_Put] = []
        self._new = 0
        self._writer: asyncio.Future[None] | None = None
        self._closing = asyncio.Event()

    async def put(self, program: CachedProgram) -> str:
        kept: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        text = text_of(program)
        self._write_later(
            _Put(program.principal, program.digest, program.cache_id, text, self._clock(), kept)
        )  # what is got meanwhile was used later
        return await kept

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        await self._take_over()
        if (found := await self._store.get(TABLE, _key(principal, cache_id))) is None:
            return None
        if (program := program_of(found.value)) is not None:
            self._write_later(_Put(principal, program.digest, cache_id, found.value, self._clock()))
        return program

    async def all(self, principal: str | None = None) -> list[CachedProgram]:
        """The programs of a principal, or of all, those used last first."""
        await self._take_over()
        uses = sorted((json.loads(each.value) for each in await scan_all(self._store, USES)), key=lambda use: -use[2])
        found = [await self._store.get(TABLE, _key(whose, id)) for whose, id, _ in uses if principal in (None, whose)]
        programs = [program_of(each.value) for each in found if each is not None]
        return [program for program in programs if program is not None]

    async def remove(self, program: CachedProgram) -> None:
        """Forget a program. Raises: StateError."""
        whose = program.principal
        await self._store.commit(
            Delete(TABLE, _key(whose, program.cache_id)), Delete(USES, _key(whose, program.digest))
        )

    async def close(self) -> None:
        self._closing.set()
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=CLOSE_WAIT_SECONDS)

    def _write_later(self, put: _Put) -> None:
        self._waiting.append(put)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        """Write what waits, all of it in one commit, until nothing does."""
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            try:
                await self._take_over()
                ids = await retry(partial(self._written, batch), TABLE)
            except StateError as error:
                for put in batch:
                    if put.kept is not None and not put.kept.done():
                        put.kept.set_exception(error)
            else:
                for put, id in zip(batch, ids, strict=True):
                    if put.kept is not None and not put.kept.done():
                        put.kept.set_result(id)
            if not getattr(self._store, "distributed", False):  # there answers wait for what is written
                with suppress(TimeoutError):
                    async with asyncio.timeout(BATCH_SECONDS):
                        await self._closing.wait()

    async def _written(self, batch: Sequence[_Put]) -> Sequence[str]:
        """Store programs. One that is there keeps its id. Returns: their ids. Raises: Conflict."""
        wanted: dict[str, _Put] = {}
        for put in batch:
            key = _key(put.principal, put.digest)
            if key not in wanted or put.kept is not None or wanted[key].kept is None:
                wanted[key] = put
        changes: list[Change] = []
        ids, new, ttl = dict[str, str](), 0, self._settings.ttl
        for key, put in wanted.items():
            found = await self._store.get(USES, key)
            _, id, used = json.loads(found.value) if found else (put.principal, put.id, 0.0)
            ids[key] = id
            if put.kept is None and (found is None or id != put.id):
                continue  # what was got has been removed meanwhile
            text = put.text if id == put.id else _with_id(put.text, id)
            used = max(used, *(each.used for each in batch if _key(each.principal, each.digest) == key), 0.0)
            use = Put(USES, key, _use(put.principal, id, used), expected=found.version if found else 0, ttl=ttl)
            changes += [Put(TABLE, _key(put.principal, id), text, ttl=ttl), use]
            new += found is None
        if changes:
            await self._store.commit(*changes)
        self._new += new
        if new and self._new > self._settings.max_entries * SURPLUS:
            self._new = 0
            with suppress(StateError):
                await self._evict({key for key, put in wanted.items() if put.kept is not None})
        return [ids[_key(put.principal, put.digest)] for put in batch]

    async def _evict(self, new: set[str]) -> None:
        """Delete the programs that are too many: those unused for longest, of principals who have more than others;
        `new` ones last, whatever the clock does. Raises: StateError."""
        records = await scan_all(self._store, USES)
        if len(records) <= self._settings.max_entries:
            return
        uses = sorted(((*json.loads(record.value), record) for record in records), key=lambda use: -use[2])
        nth: Counter[str] = Counter()
        ranked: list[tuple[bool, int, int, str, Record]] = []
        for principal, id, _, record in uses:
            ranked.append((record.key not in new, nth[principal], len(ranked), _key(principal, id), record))
            nth[principal] += 1
        for *_, key, record in sorted(ranked)[self._settings.max_entries :]:
            with suppress(Conflict):  # it was used just now
                await self._store.commit(Delete(USES, record.key, expected=record.version), Delete(TABLE, key))

    async def _take_over(self) -> None:
        """Keep what an earlier version has kept."""
        if self._earlier is None:
            return
        now, ttl = self._clock(), self._settings.ttl

        def changes(rows: Sequence[Any]) -> list[Change]:
            live = [row for row in rows if row[3] + ttl > now]
            texts = [(row, text_of(program)) for row in live if (program := program_of(_whole(*row))) is not None]
            puts: list[Change] = []
            for (who, id, digest, used, _), text in texts:
                left = used + ttl - now
                puts.append(Put(TABLE, _key(who, id), text, ttl=left))
                puts.append(Put(USES, _key(who, digest), _use(who, id, used), ttl=left))
            return puts

        await take_over(self._store, self._earlier, _EARLIER, changes, whose=TABLE)
        self._earlier = None


def _whole(principal: str, cache_id: str, digest: str, used: float, program: str) -> bytes:
    """The JSON of a program from the row of an earlier version; nothing if that is none."""
    with suppress(ValueError, TypeError):
        named = {"principal": principal, "cache_id": cache_id, "digest": digest}
        return json.dumps({**json.loads(program), **named}).encode()
    return b""


def _with_id(text: bytes, cache_id: str) -> bytes:
    """A program with another id."""
    return json.dumps({**json.loads(text), "cache_id": cache_id}).encode()


def _use(principal: str, cache_id: str, used: float) -> bytes:
    return json.dumps([principal, cache_id, used]).encode()


def _key(principal: str, name: str) -> str:
    return f"{json.dumps(principal)} {name}"
