"""How many runs a principal may start."""

from __future__ import annotations

import time
from collections import deque

from doorward.model.errors import LimitExceeded

_MAX_PRINCIPALS = 1000
"""Principals beyond which the idle are forgotten."""


class RateLimit:
    """`most` runs a minute for each principal."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._starts: dict[str, deque[float]] = {}

    def admit(self, principal: str) -> None:
        """Count this run. Raises: LimitExceeded if the principal had its runs of this minute."""
        now = time.monotonic()
        if len(self._starts) > _MAX_PRINCIPALS:  # whoever has started nothing of late has nothing to be remembered
            self._starts = {who: starts for who, starts in self._starts.items() if starts and starts[-1] >= now - 60}
        starts = self._starts.setdefault(principal, deque())
        while starts and starts[0] < now - 60:
            starts.popleft()
        if len(starts) >= self._most:
            hint = f"Try again in {60 - (now - starts[0]):.0f} s, or do more in one run."
            raise LimitExceeded(f"{self._most} runs a minute are allowed", hint=hint)
        starts.append(now)
