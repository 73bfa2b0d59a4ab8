"""Limits how many runs a principal may start in a minute, in all processes that share a store."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING

import anyio

from doorward.data.offload import to_its_end
from doorward.host.logs import seldom
from doorward.host.store_updates import update
from doorward.model.errors import LimitExceeded, StateError

if TYPE_CHECKING:
    from doorward.model.storage import Store

_MAX_PRINCIPALS = 1000
"""If there are more principals, idle ones are forgotten."""

TABLE = "starts"
"""The table with the starts of each principal: as JSON, how many were taken in each second of the last minute."""

SHARE = 1 / 20
"""Of what is left, a process takes this much at once: the others find little less than there is."""

ALONE_SECONDS = 10.0
"""How long a process counts alone after the store could not be used: runs do not wait for it one after the other."""


class RateLimit:
    """Allows each principal `most` runs a minute. This process counts its own; with a `store` it takes them from there,
    a few at a time, which it may start within the same second. Where the store cannot be used, each process counts
    alone."""

    def __init__(self, most: int, store: Store | None = None) -> None:
        self._most, self._store = most, store
        self._starts: dict[str, deque[float]] = {}
        self._taken: dict[str, tuple[int, int]] = {}
        self._taking: anyio.Lock | None = None
        self._alone_until = 0.0

    async def admit(self, principal: str, most: int | None = None) -> bool:
        """Count a run. Returns: whether other processes were asked. Raises: LimitExceeded if the principal has started
        as many as allowed in the last minute, or `most`, if that is given."""
        most = self._most if most is None else most
        now = time.monotonic()
        if len(self._starts) > _MAX_PRINCIPALS:  # an idle principal has no starts to remember
            self._starts = {who: starts for who, starts in self._starts.items() if starts and starts[-1] >= now - 60}
            self._taken = {who: taken for who, taken in self._taken.items() if who in self._starts}
        starts = self._starts.setdefault(principal, deque())
        while starts and starts[0] < now - 60:
            starts.popleft()
        if len(starts) >= most:
            raise _refusal(most, 60 - (now - starts[0]))
        starts.append(now)
        if self._store is None or now < self._alone_until or self._spend(principal):
            return False
        try:
            await self._take(principal, most, self._store)
        except BaseException:
            starts.remove(now)
            raise
        return True

    def _spend(self, principal: str) -> bool:
        """Start one of the runs that were taken in this second. Returns: whether one was left."""
        second, left = self._taken.get(principal, (0, 0))
        if not left or second != int(time.time()):
            return False
        self._taken[principal] = second, left - 1
        return True

    async def _take(self, principal: str, most: int, store: Store) -> None:
        if self._taking is None:
            self._taking = anyio.Lock()
        async with self._taking:
            if self._spend(principal) or time.monotonic() < self._alone_until:
                return
            second, unused = int(time.time()), self._taken.pop(principal, (0, 0))
            try:
                taken, wait = await to_its_end(_start(store, principal, second, most, unused))
            except StateError as error:
                self._alone_until = time.monotonic() + ALONE_SECONDS
                seldom.warning("rate_not_shared", why=error.message)
                return
            if not taken:
                raise _refusal(most, wait)
            self._taken[principal] = second, taken - 1


def _refusal(most: int, seconds: float) -> LimitExceeded:
    hint = f"Try again in {seconds:.0f} s, or do more in one run."
    return LimitExceeded(f"{most} runs a minute are allowed", hint=hint)


async def _start(store: Store, principal: str, second: int, most: int, unused: tuple[int, int]) -> tuple[int, int]:
    """Take some of the `most` runs that a principal may start in a minute, to be started in this `second` of the epoch;
    and give back what is `unused` of those taken in another. Returns: how many were taken; and, if none were, in how
    many seconds there will be one. Raises: StateError."""

    def start(value: bytes | None) -> tuple[bytes, tuple[int, int]]:
        known: dict[str, int] = json.loads(value or b"{}")
        known[str(unused[0])] = known.get(str(unused[0]), 0) - unused[1]
        starts = {at: count for at, count in known.items() if count > 0 and second - 60 <= int(at) <= second + 1}
        left, wait, taken = most - sum(starts.values()), 0, 0
        if left < 1:
            wait = max(1, min(map(int, starts)) + 61 - second)
        else:
            taken = max(1, int(left * SHARE))
            starts[str(second)] = starts.get(str(second), 0) + taken
        return json.dumps(starts).encode(), (taken, wait)

    return await update(store, TABLE, principal, start, ttl=62)
