"""What providers tell of their limits, in the words that `doorward` reads: requests and tokens that are left, and when
there are more."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import datetime

_REMAINING = re.compile(r"(?:x|anthropic)-ratelimit-(?:remaining-(\w+)|(\w+)-remaining)")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_KINDS = ("requests", "tokens")


def common_words(headers: Mapping[str, str], tokens: int) -> dict[str, str]:
    """The headers of an answer, by their names in small letters, with `x-ratelimit-remaining` and `-reset` for the
    limit that is used up first, if a provider has several: by requests that take so many `tokens`."""
    told = []
    for name, value in headers.items():
        found = _REMAINING.fullmatch(name)
        kind = found and (found[1] or found[2])
        if kind in _KINDS and value.isdecimal():
            left = int(value[:15]) // (max(1, tokens) if kind == "tokens" else 1)
            form = f"x-ratelimit-reset-{kind}" if name[0] == "x" else f"anthropic-ratelimit-{kind}-reset"
            told.append((left, -_seconds(headers.get(form, ""))))
    if not told:
        return dict(headers)
    left, seconds = min(told)
    return {**headers, "x-ratelimit-remaining": str(left), "x-ratelimit-reset": f"{-seconds:.3f}"}


def _seconds(text: str) -> float:
    """Seconds until a reset: `6m0s`, `20ms`, a number, or a time; a minute for anything else."""
    parts = _PART.findall(text[:40])
    if parts:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    try:
        return float(text) if text.replace(".", "", 1).isdecimal() else _until(text)
    except ValueError:
        return 60.0


def _until(text: str) -> float:
    return max(0.0, datetime.fromisoformat(text).timestamp() - time.time())
