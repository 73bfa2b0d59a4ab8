"""When a request is made again, and how long after."""

from __future__ import annotations

import random

import httpx2

from doorward_openapi.calls.failures import untrusted

_STATUSES = (408, 429, 502, 503, 504)
_FIRST_PAUSE_SECONDS = 0.25
"""Seconds that the first pause takes at most, doubled for each further one."""
_MAX_PAUSE_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 120.0
"""Seconds that an API may ask to wait; where it asks for more the program is told so at once."""


def after_answer(status: int, retry_after: float | None, attempt: int, *, idempotent: bool) -> float | None:
    """Seconds until the next attempt; `None` if the answer stands. `attempt` counts from 0."""
    if status not in _STATUSES or not idempotent:
        return None
    if retry_after is None:
        return _pause(attempt)
    return retry_after if retry_after <= MAX_RETRY_AFTER_SECONDS else None


def after_error(error: httpx2.TransportError, attempt: int, *, idempotent: bool) -> float | None:
    """Seconds until the next attempt; `None` if there is none: a request that may have been sent is repeated only where
    that changes nothing, and one that took too long is not."""
    if isinstance(error, httpx2.ConnectError):
        return None if untrusted(str(error)) else _pause(attempt)
    if isinstance(error, httpx2.ConnectTimeout):
        return _pause(attempt)
    lost = isinstance(error, (httpx2.NetworkError, httpx2.RemoteProtocolError))
    return _pause(attempt) if lost and idempotent else None


def _pause(attempt: int) -> float:
    """Full jitter: anything up to a bound that doubles."""
    return random.uniform(0, min(_MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt))  # noqa: S311 it is no secret
