"""Redirects: where they may lead, and what is sent along (RFC 9110 section 15.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

from doorward import ServerError

from doorward_openapi.document.servers import origin, same_origin, shown

MAX_REDIRECTS = 5
_SAFE = ("GET", "HEAD")
_FOLLOWED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Hop:
    """One request of a chain of redirects. `home`: it goes to the API itself, with credentials and all headers."""

    method: str
    url: str
    headers: Mapping[str, bytes]
    content: bytes | None = None
    home: bool = True


def following(what: str, hop: Hop, status: int, location: str | None, belongs: Callable[[str], bool]) -> Hop | None:
    """The request that follows a redirect; `None` if the answer is not a redirect.

    Within the API (the origin of the request, and whatever `belongs` to it) everything is sent along. GET and HEAD are
    followed to other places too, with nothing but `Accept`. A request that may change something is repeated only within
    one origin, and only if the API asks for exactly that (307, 308).
    Raises: ServerError for every other.
    """
    if status not in _FOLLOWED:
        return None
    if not location:
        raise ServerError(f"{what} answered {status} without saying where to go")
    url = _target(what, hop.url, location)
    method, content = (hop.method, hop.content) if status != 303 or hop.method in _SAFE else ("GET", None)
    stays = same_origin(hop.url, url)
    home = hop.home and (stays or belongs(url))
    hint = "If that is the API's address, set base_url to it, or list it in `origins`."
    if origin(hop.url)[0] == "https" and origin(url)[0] == "http":
        raise ServerError(
            f"{what} redirects from https to {shown(url)}, which anybody could read; it is not followed", hint=hint
        )
    if method not in _SAFE and not (status in (307, 308) and stays):
        raise ServerError(f"{what} redirects to {shown(url)}; a {method} is not repeated there", hint=hint)
    headers = dict(hop.headers)
    if content is None:
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("content-")}
    if not home:
        headers = {name: value for name, value in headers.items() if name.lower() == "accept"}
    return replace(hop, method=method, url=url, headers=headers, content=content, home=home)


def _target(what: str, url: str, location: str) -> str:
    """Raises: ServerError."""
    try:
        target = urljoin(url, location.strip()).partition("#")[0]
        origin(target)
        if "@" in urlsplit(target).netloc or re.search(r"[\x00-\x20\x7f\\]", target):
            raise ValueError
    except ValueError:
        raise ServerError(f"{what} redirects to what is no plain http or https URL; it is not followed") from None
    return target
