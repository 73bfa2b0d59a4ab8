"""A circuit breaker: a server that fails again and again is left alone for a while."""

from __future__ import annotations

import time

from doorward_mcp_upstream.connections.troubles import Trouble

TOLERATED_FAILURES = 3
"""Failures in a row after which a server is left alone."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 60.0
"""Seconds for which it is left alone, doubled with each further failure."""


class CircuitBreaker:
    """Counts how often in a row a server could not be reached, or went away before it had answered anything."""

    def __init__(self) -> None:
        self._failures = 0
        self._last = float("-inf")
        self._until = float("-inf")
        self._why = ""

    def failed(self, why: str, since: float) -> None:
        """Count a failure of something that began at `since` (`time.monotonic`).
        Failures at the same time count once."""
        if since < self._last:
            return
        self._failures += 1
        self._last = time.monotonic()
        self._why = why
        if self._failures >= TOLERATED_FAILURES:
            self._until = self._last + min(
                MIN_PAUSE_SECONDS * 2 ** min(self._failures - TOLERATED_FAILURES, 10), MAX_PAUSE_SECONDS
            )

    def succeeded(self) -> None:
        """Forget failures: the server has answered."""
        self._failures = 0
        self._until = float("-inf")

    def check(self) -> None:
        """Raises: Trouble while the server is left alone."""
        left = self._until - time.monotonic()
        if left > 0:
            raise Trouble(
                f"it failed {self._failures} times in a row, and is not tried again for {left:.1f} seconds. Last: "
                f"{self._why}",
                "Fix what it says, or wait.",
                sent=False,
            )
