"""How many runs a principal may start."""

from __future__ import annotations

import time
from collections import defaultdict, deque

from doorward.errors import LimitExceeded


class Rate:
    """`most` runs a minute for each principal."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._starts: defaultdict[str, deque[float]] = defaultdict(deque)

    def admit(self, principal: str) -> None:
        """Count this run. Raises: LimitExceeded if the principal had its runs of this minute."""
        now, starts = time.monotonic(), self._starts[principal]
        while starts and starts[0] < now - 60:
            starts.popleft()
        if len(starts) >= self._most:
            hint = f"Try again in {60 - (now - starts[0]):.0f} s, or do more in one run."
            raise LimitExceeded(f"{self._most} runs a minute are allowed", hint=hint)
        starts.append(now)
