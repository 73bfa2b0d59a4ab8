"""Headers of answers: what documents say of them, and what an answer without a body is instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from doorward import is_hidden_header, shown_headers

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")

MAX_SHOWN_HEADERS = 12
"""Names of headers that a card shows."""

_PLACES = {201: ("location",), 202: ("operation-location", "azure-asyncoperation", "location")}
"""Where what was made is, or how far it is, by the status."""

_USUAL = {"content-type", "content-length", "content-encoding", "date", "server", "link", "vary"}
"""What says nothing that a program would ask for."""


def declared(responses: Iterable[Any]) -> tuple[str, ...]:
    """The names of the headers that these responses of an operation have, in small letters."""
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
    """The schema of what `instead` gives of these responses, of which none has a body."""
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
    """What an answer without a body is to a program: that of HEAD its headers, one that something was made, or will be,
    where that is."""
    if method == "HEAD":
        return shown_headers(headers)
    return next((headers[name] for name in _PLACES.get(status, ()) if headers.get(name)), None)
