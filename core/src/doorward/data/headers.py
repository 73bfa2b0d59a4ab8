"""The headers of answers, as far as a program may see them."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_HEADERS_BYTES = 32 * 2**10
"""Of the headers of one answer, names included. Servers send less."""

_CREDENTIALS = re.compile(
    r"cookie|authenticat|authoriz|(^|-)auth(-|$)|secret|passw|credential|session|signature|csrf|xsrf|jwt|(^|-)key(-|$)|api-?key"
    r"|^(?!.*(next|page|continu|cursor|scroll|start|sync|change|resume)).*token$"
)
"""In names of headers that make whoever has them somebody, or ask to become so. A `next-token` turns pages."""

_NAME = re.compile(r"(?!(.*[0-9]){4})[a-z0-9_-]{1,50}")
"""What a header is called. One that a server makes of what it was sent, in small letters by now, would not be found by
the scrubber."""

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
    """The headers that may be shown, by their names in small letters: none that is a credential or about the
    connection, and no more than is read with sense."""
    found: dict[str, str] = {}
    room = MAX_HEADERS_BYTES
    for name, value in headers.items():
        name = name.lower()
        room -= len(name) + len(value)
        if room >= 0 and _NAME.fullmatch(name) and not is_hidden_header(name):
            found[name] = value
    return found


def is_hidden_header(name: str) -> bool:
    """Whether a header of this name, in small letters, is not a program's to see."""
    return name in _CONNECTION or bool(_CREDENTIALS.search(name))
