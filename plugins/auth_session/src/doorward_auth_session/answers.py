"""What the answer to a login says: a token, when it ends, or why there is none."""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
from doorward import clean_text

ENDS = ("exp", "expires_at", "expiresAt", "expires")
"""Members that say when a token ends, in seconds since the epoch."""
LASTS = ("expires_in", "expiresIn")
"""Members that say how many seconds it lasts."""
WORDS = ("message", "error_description", "detail", "error", "title", "reason", "msg", "errors")
"""Members in which APIs say what is wrong."""


def told(response: httpx2.Response) -> Any:
    """The JSON of an answer; nothing if it is none."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def dig(value: Any, path: str) -> Any:
    """What stands at a path with dots, or at a JSON pointer (RFC 6901); nothing if there is none."""
    pointer = path.startswith("/")
    for part in path[1:].split("/") if pointer else path.split("."):
        key = part.replace("~1", "/").replace("~0", "~") if pointer else part
        if isinstance(value, list) and key.isdecimal() and len(key) < 6:
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def reason(response: httpx2.Response) -> str:
    """An answer's own words for what is wrong, as far as it has any. Whole: it is scrubbed before it is cut."""
    content = told(response)
    if content is None:
        kind = response.headers.get("content-type", "")
        return _line(response.text) if kind.startswith("text/plain") else ""
    return _line(_words(content))


def _words(content: Any) -> str:
    """The words of an error, wherever it keeps them."""
    match content:
        case str():
            return content
        case dict():
            found = (_words(content[key]) for key in WORDS if content.get(key))
            return next((words for words in found if words), "")
        case list():
            return "; ".join(words for one in content[:5] if (words := _words(one)))
        case _:
            return ""


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())


def ends(response: httpx2.Response, path: str, token: str) -> float:
    """When a token ends by this machine's clock, in seconds since the epoch: as its own `exp` says, or a member of the
    answer beside it or at the top; `inf` if nobody says."""
    content = told(response)
    beside = re.sub(r"[./]?[^./]*$", "", path)
    places = [
        place
        for place in (dig(content, beside) if beside else None, content, _claims(token))
        if isinstance(place, dict)
    ]
    found = [time.time() + seconds for place in places for key in LASTS if (seconds := _number(place.get(key)))]
    found += [at + _skew(response) for place in places for key in ENDS if (at := _number(place.get(key))) and at > 1e9]
    return min(found, default=float("inf"))


def _number(value: Any) -> float | None:
    """A number of seconds; milliseconds since the epoch are told from seconds by their size."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    number = number / 1000 if number > 1e11 else number
    return number if 0 < number < 1e11 else None


def _claims(token: str) -> Any:
    """The claims of a JWT, whose signature is for the server to check; nothing if it is none."""
    try:
        payload = token.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError, binascii.Error):
        return None


def _skew(response: httpx2.Response) -> float:
    """By how much this machine's clock is ahead of the server's, in seconds, if it is more than a little."""
    try:
        ahead = time.time() - parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return ahead if abs(ahead) > 5 else 0.0
