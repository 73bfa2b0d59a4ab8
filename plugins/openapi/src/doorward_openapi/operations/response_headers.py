"""Response headers: those that a document declares, and what an answer without a body returns instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from doorward.values import is_hidden_header, shown_headers

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")

MAX_SHOWN_HEADERS = 12
"""Names of headers that a function's description shows."""

_PLACES = {201: ("location",), 202: ("operation-location", "azure-asyncoperation", "location")}
"""By status: the headers that say where a new resource is, or how far a job has come."""

_USUAL = {"content-type", "content-length", "content-encoding", "date", "server", "link", "vary"}
"""Headers that tell a program nothing of interest."""


def declared(responses: Iterable[Any]) -> tuple[str, ...]:
    """The names of the headers that these responses declare, in lower case."""
    named = (
        n
        for r in responses
        if isinstance(r, dict) and isinstance(r.get("headers"), dict)
        for n in r["headers"]
        if isinstance(n, str)
    )
    found = dict.fromkeys(name.lower() for name in named if _NAME.fullmatch(name))
    return tuple(name for name in found if name not in _USUAL and not is_hidden_header(name))[:MAX_SHOWN_HEADERS]


def schema(method: str, responses: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of what `instead` returns for these responses, none of which has a body."""
    if method == "HEAD":
        return {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "The headers, by names in small letters",
        }
    for status, places in _PLACES.items():
        if found := next((place for place in places if place in declared([responses.get(str(status))])), ""):
            return {"type": "string", "description": f"The header {found}"}
    return None


def instead(method: str, status: int, headers: Mapping[str, str]) -> Any:
    """What a program gets for an answer without a body: the headers after HEAD, or the location of the resource
    or job that was created."""
    if method == "HEAD":
        return shown_headers(headers)
    return next((headers[name] for name in _PLACES.get(status, ()) if headers.get(name)), None)
