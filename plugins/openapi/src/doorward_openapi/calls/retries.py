"""When a request is repeated, and after how long."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import httpx2

from doorward_openapi.calls.failures import untrusted

_STATUSES = (408, 429, 502, 503, 504)
_FIRST_PAUSE_SECONDS = 0.25
"""The longest first pause; each further one may be twice as long."""
_MAX_PAUSE_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 120.0
"""The longest wait that an API may ask for; if it asks for more, the program is told at once."""


def key_argument(data: Mapping[str, Any]) -> str:
    """The argument of a function by which its API knows a request that is made again; "" if it has none."""
    names = ((wire["arg"], re.sub(r"[^a-z]", "", wire["name"].lower())) for wire in data["arguments"])
    return next((argument for argument, name in names if name.endswith("idempotencykey")), "")


def advice(status: int, retry_after: float | None, key: str) -> str:
    """What to do where a call that changes something was refused for the moment, and was not repeated; "" for another
    status. `key` is the argument that would make it safe to repeat."""
    if status not in (*_STATUSES, 425):
        return ""
    wait = f"Wait {retry_after:.0f} seconds" if retry_after is not None else "Wait"
    safely = f" With {key}=… (a text of your own, the same each time) it is repeated by itself." if key else ""
    return f"{wait}, look whether it was made all the same, and if not, make it again.{safely}"


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
