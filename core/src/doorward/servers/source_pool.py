"""The open sources: one for each server, or one for each principal who uses it. A principal's own source is closed when
it has not been used for a while."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import anyio

from doorward.model.drivers import Source
from doorward.model.errors import LimitExceeded
from doorward.model.principals import LOCAL

MAX_OWN_SOURCES = 200
"""Principals' own sources that may be open at the same time: each may be a process or a connection."""

IDLE_SECONDS = 600.0
"""Seconds after which a principal's own source is closed if it is not used."""

Key = tuple[str, str]
"""The name of a server, and the principal whose source it is. The source of `local` is everyone's, unless the server is
`per_principal`; it stays open, since it compiles the server and reports changes."""


@dataclass(slots=True)
class _Open:
    source: Source
    close: Callable[[], Awaitable[None]]
    calls: int = 0
    used: float = field(default=0.0)


class SourcePool:
    """Makes each source when it is first needed, with `make`. When a source is closed, `closed` is called first, and
    what it returns is awaited afterwards: that closes what belongs to the source. What `closing` returns for a new
    source closes it, and raises nothing."""

    def __init__(
        self,
        make: Callable[[str, str], Source],
        closed: Callable[[str, str], Awaitable[None]],
        closing: Callable[[str, Source], Callable[[], Awaitable[None]]] = lambda name, source: source.close,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._closed = closed
        self._closing = closing
        self._clock = clock
        self._open: dict[Key, _Open] = {}
        self._retired: dict[int, tuple[_Open, Awaitable[None]]] = {}

    def get(self, name: str, whose: str) -> Source:
        """A source, which stays open as long as it is used from time to time. Raises: what making it raises."""
        return self._entry(name, whose).source

    def using(self, name: str, whose: str) -> AbstractAsyncContextManager[Source]:
        """A source for one call; it is not closed before the call ends.

        Raises: LimitExceeded if too many principals are using theirs; what making it raises.
        """
        return _Using(self, name, whose)

    async def take(self, name: str, whose: str) -> _Open:
        """Count one more call of a source."""
        if whose != LOCAL and (name, whose) not in self._open:
            await self._make_room()
        entry = self._entry(name, whose)
        entry.calls += 1
        return entry

    async def give_back(self, entry: _Open) -> None:
        """Count one less, and close the source if it was the last call of one that is retired."""
        entry.calls -= 1
        entry.used = self._clock()
        if not entry.calls and (retired := self._retired.pop(id(entry), None)):
            await self._end(*retired)

    async def sweep(self) -> None:
        """Close the principals' own sources that have not been used for a while."""
        for key in [key for key in self._idle() if self._clock() - self._open[key].used > IDLE_SECONDS]:
            await self._close(key)

    async def retire(self, name: str) -> None:
        """Close the sources of a server whose configuration has changed or is gone, each when its calls have ended."""
        for key in [key for key in self._open if key[0].partition("@")[0] == name]:
            if not self._open[key].calls:
                await self._close(key)
                continue
            entry = self._open.pop(key)
            closed = self._closed(*key)  # now: the next source of that name has an auth of its own
            self._retired[id(entry)] = (entry, closed)

    async def close(self) -> None:
        """Close everything."""
        for key in [*self._open]:
            await self._close(key)
        while self._retired:
            await self._end(*self._retired.popitem()[1])

    def _entry(self, name: str, whose: str) -> _Open:
        entry = self._open.get((name, whose))
        if entry is None:
            source = self._make(name, whose)
            entry = self._open[name, whose] = _Open(source, self._closing(name, source))
        entry.used = self._clock()
        return entry

    async def _make_room(self) -> None:
        while sum(whose != LOCAL for _, whose in self._open) >= MAX_OWN_SOURCES:
            if not (idle := self._idle()):
                raise LimitExceeded(
                    f"{MAX_OWN_SOURCES} connections of principals are in use", hint="Try again in a moment."
                )
            await self._close(idle[0])

    def _idle(self) -> list[Key]:
        """Principals' own sources that are not in a call, the longest unused first."""
        found = [key for key, entry in self._open.items() if key[1] != LOCAL and not entry.calls]
        return sorted(found, key=lambda key: self._open[key].used)

    async def _close(self, key: Key) -> None:
        if (entry := self._open.pop(key, None)) is None:  # another task has closed it meanwhile
            return
        closed = self._closed(*key)  # now: the principal may come back while this waits, and then gets a new one
        await self._end(entry, closed)

    async def _end(self, entry: _Open, closed: Awaitable[None]) -> None:
        with anyio.CancelScope(shield=True):  # if this task ends, nothing may stay half closed
            await entry.close()
            await closed


class _Using:
    """See `SourcePool.using`. A class, and no generator: one is around every call."""

    __slots__ = ("_entry", "_name", "_pool", "_whose")

    def __init__(self, pool: SourcePool, name: str, whose: str) -> None:
        self._pool = pool
        self._name = name
        self._whose = whose

    async def __aenter__(self) -> Source:
        self._entry = await self._pool.take(self._name, self._whose)
        return self._entry.source

    async def __aexit__(self, *raised: object) -> None:
        await self._pool.give_back(self._entry)
