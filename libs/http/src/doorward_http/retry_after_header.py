"""Reads the header `Retry-After`."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime

_MOST_SECONDS = 366 * 86_400.0
"""A year: no run waits for longer, and a server may say anything."""


def retry_after(text: str) -> float | None:
    """The seconds that `Retry-After` says (RFC 9110 section 10.2.3): a number, or a date; `None` if it is neither."""
    text = text.strip()
    try:
        number = float(text)
        return min(number, _MOST_SECONDS) if math.isfinite(number) and number >= 0 else None
    except ValueError:
        pass
    try:
        return min(max(0.0, parsedate_to_datetime(text).timestamp() - time.time()), _MOST_SECONDS)
    except (ValueError, TypeError, OverflowError):
        return None
