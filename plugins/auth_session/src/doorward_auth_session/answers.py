"""Reads the answer to a login: a token, when it ends, or why there is none."""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
from doorward.values import clean_text

ENDS = ("exp", "expires_at", "expiresAt", "expires")
"""Members that hold the end of a token, in seconds since the epoch."""
LASTS = ("expires_in", "expiresIn")
"""Members that hold the life of a token in seconds."""
WORDS = ("message", "error_description", "detail", "error", "title", "reason", "msg", "errors")
"""Members in which APIs explain an error."""


def told(response: httpx2.Response) -> Any:
    """The JSON value of an answer; None if it is not JSON."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def dig(value: Any, path: str) -> Any:
    """The value at a path with dots or a JSON pointer (RFC 6901); None if there is none."""
    pointer = path.startswith("/")
    for part in path[1:].split("/") if pointer else path.split("."):
        key = part.replace("~1", "/").replace("~0", "~") if pointer else part
        if isinstance(value, list) and key.isdecimal() and len(key) < 6:
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def reason(response: httpx2.Response) -> str:
    """An answer's own explanation of an error, if it has one. It is complete, because it is
    scrubbed before it is cut."""
    content = told(response)
    if content is None:
        kind = response.headers.get("content-type", "")
        return _line(response.text) if kind.startswith("text/plain") else ""
    return _line(_words(content))


def _words(content: Any) -> str:
    """The text of an error, wherever the answer has it."""
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
    """When a token ends by this machine's clock, in seconds since the epoch: by its own `exp`, or by a member of the
    answer beside it or at the top; `inf` if that is unknown."""
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
    """A number of seconds; milliseconds since the epoch are recognised by their size."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    number = number / 1000 if number > 1e11 else number
    return number if 0 < number < 1e11 else None


def _claims(token: str) -> Any:
    """The claims of a JWT, whose signature only the server checks; None if it is not a JWT."""
    try:
        payload = token.split(".")[1]
        return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError, binascii.Error):
        return None


def _skew(response: httpx2.Response) -> float:
    """How many seconds this machine's clock is ahead of the server's; 0 if the difference is small."""
    try:
        ahead = time.time() - parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return ahead if abs(ahead) > 5 else 0.0
