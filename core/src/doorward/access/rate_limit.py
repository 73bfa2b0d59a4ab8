"""Limits how many runs a principal may start in a minute."""

from __future__ import annotations

import time
from collections import deque

from doorward.model.errors import LimitExceeded

_MAX_PRINCIPALS = 1000
"""If there are more principals, idle ones are forgotten."""


class RateLimit:
    """Allows each principal `most` runs a minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._starts: dict[str, deque[float]] = {}

    def admit(self, principal: str) -> None:
        """Count a run. Raises: LimitExceeded if the principal has started as many as allowed in the last minute."""
        now = time.monotonic()
        if len(self._starts) > _MAX_PRINCIPALS:  # an idle principal has no starts to remember
            self._starts = {who: starts for who, starts in self._starts.items() if starts and starts[-1] >= now - 60}
        starts = self._starts.setdefault(principal, deque())
        while starts and starts[0] < now - 60:
            starts.popleft()
        if len(starts) >= self._most:
            hint = f"Try again in {60 - (now - starts[0]):.0f} s, or do more in one run."
            raise LimitExceeded(f"{self._most} runs a minute are allowed", hint=hint)
        starts.append(now)
