"""URLs and origins in the configuration of the HTTP endpoint."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from doorward.host.loopback import is_loopback


def _address(url: str) -> str:
    """Check a URL that is given to others. Raises: ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("must be a URL like https://host/path, without query and fragment")
    return url


def _trusted(url: str) -> str:
    """Check a URL from which keys are fetched: over plain http, somebody on the way could replace the keys, and then
    make tokens. Raises: ValueError."""
    parts = urlsplit(_address(url))
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError("must be https: whoever is on the way could make tokens otherwise")
    return url


def origin_of(url: str) -> str | None:
    """An origin as browsers write it: in lower case, without the default port; `None` if this is not an origin."""
    found = re.fullmatch(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?", url.lower())
    if found is None:
        return None
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" + (f":{port}" if port and int(port) != {"http": 80, "https": 443}[scheme] else "")


def _origin(origin: str) -> str:
    if (found := origin_of(origin)) is None:
        raise ValueError(f"{origin!r} is no origin such as https://app.example.com")
    return found


Address = Annotated[str, AfterValidator(_address)]
"""A URL that is given to others."""

TrustedAddress = Annotated[str, AfterValidator(_trusted)]
"""A URL from which keys are fetched."""

Origin = Annotated[str, AfterValidator(_origin)]
"""An origin of web pages."""
