"""A store that ends with its process: for a core without any engine, and for tests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from doorward.model import settings
from doorward.model.storage import (
    Append,
    Blob,
    Change,
    Conflict,
    Delete,
    DeleteBlob,
    Forget,
    Lease,
    Named,
    Notify,
    Put,
    PutBlob,
    Record,
    StaleLease,
    require_once,
)

if TYPE_CHECKING:
    from doorward.model.contexts import PluginContext


class MemoryStore:
    """A `Store` of one process. No method waits for anything but signals, so each one is one step."""

    Settings: ClassVar[type[settings.Settings]] = settings.Settings
    lasts = False
    distributed = False

    def __init__(self, context: PluginContext | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._version = 0
        self._records: dict[str, dict[str, Record]] = {}
        self._logs: dict[str, list[bytes]] = {}
        self._blobs: dict[str, Blob] = {}
        self._leases: dict[str, tuple[int, float]] = {}
        self._topics: dict[str, int] = {}
        self._woken: dict[str, asyncio.Event] = {}

    async def commit(self, *changes: Change, fences: Sequence[Lease] = (), sync: bool = False) -> int:
        require_once(changes)
        for lease in fences:
            self._require_held(lease)
        self._forget_expired()
        for change in changes:
            match change:
                case Put(table=table, key=key, expected=int(expected)) | Delete(table, key, int(expected)):
                    if expected != (known.version if (known := self._found(table, key)) else 0):
                        raise Conflict(f"the record {key!r} of {table!r} has changed")
                case Append(log, _, at) if at != len(self._logs.get(log, ())):
                    raise Conflict(f"the log {log!r} ends elsewhere")
        self._version += 1
        for change in changes:
            self._make(change)
        return self._version

    def _make(self, change: Change) -> None:
        match change:
            case Put(table, key, value, _, ttl):
                self._records.setdefault(table, {})[key] = Record(key, value, self._version, self._end_of(ttl))
            case Delete(table, key):
                self._records.get(table, {}).pop(key, None)
            case Append(log, entries) if entries:
                self._logs.setdefault(log, []).extend(entries)
            case Forget(log):
                self._logs.pop(log, None)
            case PutBlob(name, content, ttl):
                self._blobs[name] = Blob(content, len(content), self._end_of(ttl))
            case DeleteBlob(name):
                self._blobs.pop(name, None)
            case Notify(topic):
                self._topics[topic] = self._version
                self._woken.pop(topic, asyncio.Event()).set()

    async def get(self, table: str, key: str) -> Record | None:
        return self._found(table, key)

    async def scan(
        self, table: str, prefix: str = "", *, after: str | None = None, limit: int = 1000
    ) -> Sequence[Record]:
        keys = sorted(
            key for key in self._records.get(table, ()) if key.startswith(prefix) and (after is None or key > after)
        )
        return [found for key in keys if (found := self._found(table, key))][:limit]

    async def end(self, log: str) -> int:
        return len(self._logs.get(log, ()))

    async def read(self, log: str, start: int = 0, *, limit: int = 1000) -> Sequence[bytes]:
        return self._logs.get(log, [])[start : start + limit]

    async def blob(self, name: str, start: int = 0, size: int | None = None) -> Blob | None:
        if (found := self._blobs.get(name)) is None or self._is_over(found.expires):
            return None
        return Blob(found.content[start : None if size is None else start + size], found.size, found.expires)

    async def names(self, what: Named, *, after: str | None = None, limit: int = 1000) -> Sequence[str]:
        self._forget_expired()
        held: dict[Named, dict[str, Any]] = {"tables": self._records, "logs": self._logs, "blobs": self._blobs}
        named = sorted(name for name, content in held[what].items() if content)
        return [name for name in named if after is None or name > after][:limit]

    async def acquire(self, name: str, seconds: float) -> Lease | None:
        if name in self._leases and not self._is_over(self._leases[name][1]):
            return None
        self._version += 1
        self._leases[name] = self._version, self._clock() + seconds
        return Lease(name, self._version)

    async def renew(self, lease: Lease, seconds: float) -> None:
        self._require_held(lease)
        self._leases[lease.name] = lease.token, self._clock() + seconds

    async def release(self, lease: Lease) -> None:
        if self._leases.get(lease.name, (0,))[0] == lease.token:
            del self._leases[lease.name]

    async def signal(self, topic: str, seen: int = -1, timeout: float = 0.0) -> int:
        if self._topics.get(topic, 0) <= seen and timeout > 0:
            woken = self._woken.setdefault(topic, asyncio.Event())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await woken.wait()
        return self._topics.get(topic, 0)

    async def close(self) -> None:
        """Nothing is open."""

    def _found(self, table: str, key: str) -> Record | None:
        found = self._records.get(table, {}).get(key)
        return None if found is None or self._is_over(found.expires) else found

    def _require_held(self, lease: Lease) -> None:
        if self._leases.get(lease.name, (0,))[0] != lease.token:
            raise StaleLease(f"the lease {lease.name!r} is lost")

    def _end_of(self, ttl: float | None) -> float | None:
        return None if ttl is None else self._clock() + ttl

    def _is_over(self, expires: float | None) -> bool:
        return expires is not None and expires <= self._clock()

    def _forget_expired(self) -> None:
        held: list[dict[str, Any]] = [*self._records.values(), self._blobs]
        for each in held:
            for name in [name for name, found in each.items() if self._is_over(found.expires)]:
                del each[name]
