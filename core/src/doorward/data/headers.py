"""The headers of an answer that a program may see."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_HEADERS_BYTES = 32 * 2**10
"""Bytes of the headers of one answer, names included. Servers send less."""

_CREDENTIALS = re.compile(
    r"cookie|authenticat|authoriz|(^|-)auth(-|$)|secret|passw|credential|session|signature|csrf|xsrf|jwt|(^|-)key(-|$)|api-?key"
    r"|^(?!.*(next|page|continu|cursor|scroll|start|sync|change|resume)).*token$"
)
"""Names of headers that identify somebody, or ask for it. (A `next-token` is for pages.)"""

_NAME = re.compile(r"(?!(.*[0-9]){4})[a-z0-9_-]{1,50}")
"""Plausible names of headers. A server might make up a name from a secret that it was sent; in small letters the
scrubber would not find it."""

_CONNECTION = {
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "alt-svc",
}


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that may be shown, by their names in small letters: no credentials, nothing about the connection, and
    at most `MAX_HEADERS_BYTES`."""
    found: dict[str, str] = {}
    room = MAX_HEADERS_BYTES
    for name, value in headers.items():
        name = name.lower()
        room -= len(name) + len(value)
        if room >= 0 and _NAME.fullmatch(name) and not is_hidden_header(name):
            found[name] = value
    return found


def is_hidden_header(name: str) -> bool:
    """Whether programs must not see the header with this name, which is in small letters."""
    return name in _CONNECTION or bool(_CREDENTIALS.search(name))
