"""What is remembered of principals, in the store: after a restart, and in other processes that use the same one.

Each run adds a record with the hashes of what its program said and was answered, which expires; beside them stands when
the principal was shown what. The oldest records go when they are too much."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from doorward import log
from doorward.engines import Conflict, Delete, Put, Store, retry, update

from doorward_provenance.memory import Memory

TABLE = "provenance"
MOST_BYTES = 4 * 2**20
"""Of all records of one principal."""
MOST_RECORD_BYTES = 2**20
_OVERLAP_SECONDS = 120
"""Clocks of machines differ: so far back it is looked for records that others have added since."""
_KEY_LASTS_SECONDS = 10 * 365 * 86400.0


@dataclass
class _Seen:
    """The records of a principal that were read or written, by their keys, with their sizes."""

    sizes: OrderedDict[str, int] = field(default_factory=OrderedDict)
    version: int = 0
    """That of what it was shown, which each process stores with its records."""
    using: anyio.Lock = field(default_factory=anyio.Lock)


class Sharing:
    """Loads and saves what is remembered of principals. Raises: StateError, from each method but `save`."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store, self._seconds = store, seconds
        self._seen: WeakKeyDictionary[Memory, _Seen] = WeakKeyDictionary()

    async def key(self) -> bytes:
        """The key of the hashes, which the first process draws."""

        def drawn(value: bytes | None) -> tuple[bytes | None, bytes]:
            key = value or secrets.token_bytes(32)
            return (None if value else key), key

        return await update(self._store, TABLE, "key", drawn, ttl=_KEY_LASTS_SECONDS)

    async def load(self, principal: str, memory: Memory) -> None:
        """Learn what others have stored since."""
        seen = self._seen.setdefault(memory, _Seen())
        async with seen.using:
            await self._read(_name(principal), memory, seen)

    async def _read(self, name: str, memory: Memory, seen: _Seen) -> None:
        found = await self._store.get(TABLE, f"{name}#")
        if (version := found.version if found else 0) == seen.version:
            return
        if found is not None:
            memory.learn_state(json.loads(found.value))
        last = next(reversed(seen.sizes), "")
        after = f"{name}/{float(last[len(name) + 1 :].split('-')[0]) - _OVERLAP_SECONDS:018.6f}" if last else None
        while page := await self._store.scan(TABLE, f"{name}/", after=after):
            for record in page:
                if record.key not in seen.sizes:
                    seen.sizes[record.key] = len(record.value)
                    memory.learn(json.loads(record.value))
            after = page[-1].key
        seen.version = version

    async def save(self, principal: str, memory: Memory) -> None:
        """Store what is new. If that fails, only this process knows it."""
        name, seen = _name(principal), self._seen.setdefault(memory, _Seen())
        async with seen.using:
            news, memory.news = memory.news or [], []
            if not news:
                return
            value = _written(news, memory)
            key = f"{name}/{time.time():018.6f}-{secrets.token_hex(4)}"
            seen.sizes[key] = len(value)
            record = Put(TABLE, key, value, ttl=self._seconds)
            olds = [Delete(TABLE, old) for old in _too_much(seen.sizes)]

            async def commit() -> None:
                state = Put(TABLE, f"{name}#", json.dumps(memory.state()).encode(), seen.version, self._seconds)
                try:
                    seen.version = await self._store.commit(record, state, *olds)
                except Conflict:  # others know more than this process
                    await self._read(name, memory, seen)
                    raise

            try:
                await retry(commit, TABLE)
            except Exception as error:
                log.warning("provenance_not_stored", why=str(error))


def _name(principal: str) -> str:
    return hashlib.sha256(principal.encode()).hexdigest()[:32]


def _written(news: list[dict[str, Any]], memory: Memory) -> bytes:
    """News as bytes, without the largest if they are too much: that is lost for others."""
    written = [json.dumps(each) for each in news]
    size = sum(map(len, written))
    for large in sorted(written, key=len, reverse=True):
        if size <= MOST_RECORD_BYTES:
            break
        written.remove(large)
        memory.lose()
        size -= len(large)
    return f"[{','.join(written)}]".encode()


def _too_much(sizes: OrderedDict[str, int]) -> list[str]:
    """The keys of the oldest records, without which the others are not too much."""
    found: list[str] = []
    total = sum(sizes.values())
    while total > MOST_BYTES and len(sizes) > 1 and len(found) < 500:
        old, size = sizes.popitem(last=False)
        found.append(old)
        total -= size
    return found
