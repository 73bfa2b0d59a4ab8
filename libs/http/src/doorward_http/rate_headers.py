"""What an answer says of the limits of its server: how many requests are left, and when there are more.

Read are `RateLimit` (draft-ietf-httpapi-ratelimit-headers, its older forms too), `X-RateLimit-…` and `X-Rate-Limit-…`
as they are common, and `Retry-After` (RFC 9110 section 10.2.3) of an answer 429.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from doorward_http.retry_after_header import retry_after

_FORMS = ("ratelimit-", "x-ratelimit-", "x-rate-limit-")
_NAMES = frozenset({"ratelimit", *(f"{form}remaining" for form in _FORMS)})
_BUCKETS = ("x-ratelimit-bucket", "x-ratelimit-resource")
"""Names of a limit that holds for some routes only: of Discord, and of GitHub."""
_MEMBER = re.compile(r'(?:^|,)\s*(?:"[^"]*"|[\w*.-]+)((?:\s*;\s*[\w*.-]+=(?:"[^"]*"|[^\s,;"]+))*)')
_PARAMETER = re.compile(r'([\w*.-]+)=("[^"]*"|[^\s,;"]+)')
_EPOCH = 1e9
"""A reset above this is a time, not a number of seconds; above a thousand times this, in milliseconds."""
_PAUSE_SECONDS = 1.0
"""After a refusal that names no time."""
_MOST_SECONDS = 86_400.0
"""After a day a server is asked again, whatever it told."""
_ROUNDED_SECONDS = 1.0
"""A whole number may have been rounded down: to be early by that would provoke a refusal."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says: the requests that are `remaining`, the seconds until the `reset`, and the `limit` that holds
    from then on; each where it is said. `bucket` names the limit, if it has a name."""

    remaining: int | None = None
    reset: float | None = None
    limit: int | None = None
    bucket: str = ""
    is_refusal: bool = False


def told(status: int, headers: Mapping[str, str]) -> Told | None:
    """What the headers of an answer, by their names in small letters, say of limits; `None` if nothing."""
    if _NAMES.isdisjoint(headers) and status != 429:
        return None
    bucket = next((headers[name][:100] for name in _BUCKETS if name in headers), "")
    remaining, reset, limit = _members(headers["ratelimit"]) if "ratelimit" in headers else _common(headers)
    if status == 429:
        wait = retry_after(headers.get("retry-after", ""))
        reset = _PAUSE_SECONDS if wait is None and reset is None else wait or reset
    reset = None if reset is None else min(reset, _MOST_SECONDS)
    if status == 429:
        return Told(0, reset, limit, bucket, True)
    return None if remaining is None else Told(remaining, reset, limit, bucket)


def _members(text: str) -> tuple[int | None, float | None, int | None]:
    """`RateLimit: "burst";r=3;t=10, "day";r=500;t=7200`: the one of which the fewest are left."""
    found = [dict(_PARAMETER.findall(member[1])) for member in _MEMBER.finditer(text[:2000])]
    left = [(number, _seconds(one.get("t", ""), {})) for one in found if (number := _number(one.get("r"))) is not None]
    return (*min(left, key=lambda one: (one[0], -(one[1] or 0))), None) if left else (None, None, None)


def _common(headers: Mapping[str, str]) -> tuple[int | None, float | None, int | None]:
    for form in _FORMS:
        if (remaining := _number(headers.get(f"{form}remaining"))) is not None:
            after = headers.get(f"{form}reset-after") or headers.get(f"{form}reset", "")
            return remaining, _seconds(after, headers), _number(headers.get(f"{form}limit"))
    return None, None, None


def _number(text: str | None) -> int | None:
    """The number at the beginning: `100, 100;w=60` is 100."""
    found = re.match(r"\s*(\d{1,12})(?![\d.])", text or "")
    return int(found[1]) if found else None


def _seconds(text: str, headers: Mapping[str, str]) -> float | None:
    """Seconds until a reset, given as their number or as a time; the server's own clock counts where it tells it."""
    found = re.match(r"\s*(\d{1,15})(\.\d{1,9})?\s*(?:$|[,;])", text)
    if found is None:
        return retry_after(text) if text else None
    seconds = float(found[1] + (found[2] or ""))
    if seconds > _EPOCH:
        seconds = seconds / 1000 if seconds > 1000 * _EPOCH else seconds
        seconds = max(0.0, seconds - _now(headers.get("date", "")))
    return seconds if found[2] else seconds + _ROUNDED_SECONDS


def _now(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return time.time()
