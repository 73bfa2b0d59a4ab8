"""Reads the header `Retry-After`."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime


def retry_after(text: str) -> float | None:
    """The seconds that `Retry-After` says (RFC 9110 section 10.2.3): a number, or a date; `None` if it is neither."""
    text = text.strip()
    try:
        number = float(text)
        return number if math.isfinite(number) and number >= 0 else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
