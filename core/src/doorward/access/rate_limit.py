"""Limits how many runs a principal may start in a minute, in all processes that share a state folder."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import anyio

from doorward.data.offload import thread_to_its_end
from doorward.host.logs import seldom
from doorward.model.errors import ConfigError, LimitExceeded

if TYPE_CHECKING:
    from doorward.access.usage_file import UsageFile

_MAX_PRINCIPALS = 1000
"""If there are more principals, idle ones are forgotten."""


class RateLimit:
    """Allows each principal `most` runs a minute. This process counts its own; with a `file` it takes them from there,
    a few at a time, which it may start within the same second. Where the file cannot be used, each process counts
    alone."""

    def __init__(self, most: int, file: UsageFile | None = None) -> None:
        self._most, self._file = most, file
        self._starts: dict[str, deque[float]] = {}
        self._taken: dict[str, tuple[int, int]] = {}
        self._taking: anyio.Lock | None = None

    async def admit(self, principal: str) -> None:
        """Count a run. Raises: LimitExceeded if the principal has started as many as allowed in the last minute."""
        now = time.monotonic()
        if len(self._starts) > _MAX_PRINCIPALS:  # an idle principal has no starts to remember
            self._starts = {who: starts for who, starts in self._starts.items() if starts and starts[-1] >= now - 60}
            self._taken = {who: taken for who, taken in self._taken.items() if who in self._starts}
        starts = self._starts.setdefault(principal, deque())
        while starts and starts[0] < now - 60:
            starts.popleft()
        if len(starts) >= self._most:
            raise self._refusal(60 - (now - starts[0]))
        starts.append(now)
        if self._file is not None and not self._spend(principal):
            try:
                await self._take(principal, self._file)
            except BaseException:
                starts.remove(now)
                raise

    def _spend(self, principal: str) -> bool:
        """Start one of the runs that were taken in this second. Returns: whether one was left."""
        second, left = self._taken.get(principal, (0, 0))
        if not left or second != int(time.time()):
            return False
        self._taken[principal] = second, left - 1
        return True

    async def _take(self, principal: str, file: UsageFile) -> None:
        if self._taking is None:
            self._taking = anyio.Lock()
        async with self._taking:
            if self._spend(principal):
                return
            second, unused = int(time.time()), self._taken.pop(principal, (0, 0))
            try:
                taken, wait = await thread_to_its_end(file.start, principal, second, self._most, unused)
            except ConfigError as error:
                seldom.warning("rate_not_shared", why=error.message)
                return
            if not taken:
                raise self._refusal(wait)
            self._taken[principal] = second, taken - 1

    def _refusal(self, seconds: float) -> LimitExceeded:
        hint = f"Try again in {seconds:.0f} s, or do more in one run."
        return LimitExceeded(f"{self._most} runs a minute are allowed", hint=hint)
