"""The origins to which credentials may go."""

from __future__ import annotations

from collections.abc import Sequence

import httpx2
from doorward import ConfigError, ServerError
from doorward.values import is_loopback


class CredentialHome:
    """The origin of a server (RFC 6454), and further ones that its configuration calls its own (`origins`). Its
    credentials go there and nowhere else.

    Raises: ConfigError if `url` is no URL, or if one of them is neither https nor on loopback.
    """

    def __init__(self, server: str, url: str, origins: Sequence[str] = ()) -> None:
        at = parsed(url)
        if not url or not at.host:
            raise ConfigError(
                f"{server}: it is not known where its credentials may go", hint="Set `url` or `base_url` of the server."
            )
        every = [at, *map(parsed, origins)]
        for one in every:
            if one.scheme != "https" and not (one.scheme == "http" and is_loopback(one.host)):
                raise ConfigError(
                    f"{server}: credentials that are fetched go over https only, and its URL is {place(str(one))}",
                    hint="Use its https address; plain http is for loopback.",
                )
        self._server, self.origin, self._at = server, at.origin, place(str(at.join("/")))
        self._origins = {one.origin for one in every}

    def check(self, request: httpx2.Request) -> None:
        """Raises: ServerError for a request to another origin."""
        if request.url.origin not in self._origins:
            raise ServerError(
                f"the credentials of {self._server!r} are for {self._at} and were not sent to "
                f"{place(str(request.url.join('/')))}",
                hint="Configure the other origin as a server of its own.",
            )


def parsed(url: str) -> httpx2.URL:
    """The parsed URL. Raises: ServerError."""
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ServerError(f"{url[:100]!r} is no URL", hint="Write it as https://host/path.") from None


def place(url: str) -> str:
    """A URL without the parts that may be secret: user, query and fragment."""
    return str(httpx2.URL(url).copy_with(userinfo=b"", query=None, fragment=None))
