"""HTTP answers → values, or errors that say what is wrong."""

from __future__ import annotations

import json
import math
import time
from email.utils import parsedate_to_datetime
from typing import Any

from doorward import ApiError, ServerError

from doorward_openapi.values import finite

_KEPT = 200_000
"""Characters of what an error says. Far more than anybody is shown: the broker cuts, after it has removed credentials, for one that is
cut in two would not be found."""


def value_of(what: str, media: str, charset: str | None, body: bytes) -> Any:
    """The value of an answer: JSON as its value, text as `str`, nothing as None, anything else as `bytes`.

    Raises: ServerError if it says JSON and is none.
    """
    if not body:
        return None
    bare = media.partition(";")[0].strip().lower()
    if bare.endswith("json"):
        try:
            return _json(body)
        except (ValueError, RecursionError) as error:
            why = f"{what} answered with broken JSON: {str(error)[:100]}"
            raise ServerError(why, hint="Try again; if it stays, tell the operator.") from None
    if not bare:
        return _guessed(body)
    return _text(body, charset) if _is_text(bare) else body


def _is_text(bare: str) -> bool:
    names = ("xml", "yaml", "javascript", "ndjson", "jsonl", "json-seq", "csv", "graphql", "x-www-form-urlencoded")
    return bare.startswith("text/") or any(name in bare for name in names)


def _guessed(body: bytes) -> Any:
    """An answer that does not say what it is."""
    try:
        return _json(body)
    except (ValueError, RecursionError):
        pass
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _text(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _json(body: bytes) -> Any:
    """NaN and infinities, which are no JSON but are sent, become None."""
    import msgspec

    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(body.decode("utf-8-sig", "replace"), parse_constant=lambda _: None, parse_float=finite)


def error_of(what: str, status: int, reason: str, media: str, retry_after: str | None, body: bytes) -> ApiError:
    """The error that an answer of 400 and above stands for."""
    value = _error_body(media, body)
    told = _told(value, 0)
    after = seconds(retry_after) if retry_after else None
    message = f"{what} answered {status} {reason}".rstrip() + (f": {told}" if told else "")
    return ApiError(message, status=status, body=value, retry_after=after, hint=_hint(status, after))


def _error_body(media: str, body: bytes) -> Any:
    if len(body) <= _KEPT:
        try:
            return value_of("it", media, None, body)
        except ServerError:
            pass
    return body[:_KEPT].decode("utf-8", "replace")


def _hint(status: int, after: float | None) -> str | None:
    if status in (401, 403):
        return "The credentials are missing, wrong or not enough: the operator sets `auth` of the server."
    if status == 429 or after is not None:
        return f"Wait {after:.0f} seconds before the next call." if after is not None else "Wait before the next call."
    return None


def _told(value: Any, depth: int) -> str:
    """What an error body says: RFC 9457 `title` and `detail`, else the words that APIs use."""
    if isinstance(value, str):
        if value.lstrip()[:1] == "<":
            return ""
        # White space only of what is whole: it could bring the place of a cut, and half a credential, to the front.
        return " ".join(value.split()) if len(value) <= _KEPT else value[:_KEPT]
    if isinstance(value, list) and value and depth < 4:
        return "; ".join(filter(None, (_told(v, depth + 1) for v in value[:5])))[:_KEPT]
    if not isinstance(value, dict) or depth > 4:
        return ""
    parts: list[str] = []
    for key in ("title", "detail", "message", "error_description", "msg", "error", "errors", "reason", "description", "fault", "Message"):
        told = _told(value.get(key), depth + 1)
        if told and not any(told in part for part in parts):
            parts.append(told)
    if "loc" in value and parts:  # FastAPI says where
        parts[0] = f"{'.'.join(map(str, value['loc'])) if isinstance(value['loc'], list) else value['loc']}: {parts[0]}"
    return ": ".join(parts[:3])[:_KEPT]


def seconds(retry_after: str) -> float | None:
    """`Retry-After` (RFC 9110 section 10.2.3): seconds, or a date; `None` if it is neither."""
    text = retry_after.strip()
    try:
        number = float(text)
        return number if math.isfinite(number) and number >= 0 else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
