"""When a request is repeated, and after how long."""

from __future__ import annotations

import random

import httpx2

from doorward_openapi.calls.failures import untrusted

_STATUSES = (408, 429, 502, 503, 504)
_FIRST_PAUSE_SECONDS = 0.25
"""The longest first pause; each further one may be twice as long."""
_MAX_PAUSE_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 120.0
"""The longest wait that an API may ask for; if it asks for more, the program is told at once."""


def after_answer(status: int, retry_after: float | None, attempt: int, *, idempotent: bool) -> float | None:
    """Seconds until the next attempt; `None` if the answer stands. `attempt` counts from 0."""
    if status not in _STATUSES or not idempotent:
        return None
    if retry_after is None:
        return _pause(attempt)
    return retry_after if retry_after <= MAX_RETRY_AFTER_SECONDS else None


def after_error(error: httpx2.TransportError, attempt: int, *, idempotent: bool) -> float | None:
    """Seconds until the next attempt; `None` if there is none. A request that may have been sent is repeated only if it
    is idempotent, and one that took too long is not repeated."""
    if isinstance(error, httpx2.ConnectError):
        return None if untrusted(str(error)) else _pause(attempt)
    if isinstance(error, httpx2.ConnectTimeout):
        return _pause(attempt)
    lost = isinstance(error, (httpx2.NetworkError, httpx2.RemoteProtocolError))
    return _pause(attempt) if lost and idempotent else None


def _pause(attempt: int) -> float:
    """Full jitter: anything up to a bound that doubles."""
    return random.uniform(0, min(_MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt))  # noqa: S311 not a secret
