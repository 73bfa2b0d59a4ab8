"""The cookies of one session, limited in number and size, and sent only where they belong (RFC 6265)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

MAX_COOKIES = 20
"""Cookies of one session: the scrubber must be able to remember all of them."""
MAX_COOKIE_CHARS = 4096
"""Length of a cookie's name and value."""


class Cookies:
    """The cookies that answers set. The standard library applies domain, path, `Secure` and expiry."""

    def __init__(self) -> None:
        self._jar = CookieJar()
        self._jar.set_policy(_Policy(self._jar))

    def take(self, response: httpx2.Response) -> set[str]:
        """Store the cookies that an answer sets, drop those that it ends. Returns: the names of those that it set."""
        before = {id(cookie): cookie for cookie in self._jar}
        httpx2.Cookies(self._jar).extract_cookies(response)
        return {cookie.name for cookie in self._jar if id(cookie) not in before}

    def fitting(self, request: httpx2.Request) -> dict[str, str]:
        """The cookies to send with a request."""
        asked = httpx2.Request(request.method, request.url)
        httpx2.Cookies(self._jar).set_cookie_header(asked)
        pairs = [pair.partition("=") for pair in asked.headers.get("Cookie", "").split("; ") if pair]
        return {name: value for name, _, value in reversed(pairs)}  # the most specific path comes first, and wins

    def fits(self, url: httpx2.URL, name: str) -> bool:
        """Whether a cookie of this name would ever be sent to the host of a URL."""
        paths = [cookie.path for cookie in self._jar if cookie.name == name]
        return any(name in self.fitting(httpx2.Request("GET", url.copy_with(path=path))) for path in paths)

    def get(self, name: str) -> str | None:
        return next((cookie.value for cookie in self._jar if cookie.name == name), None)

    def ends(self, name: str) -> float:
        """When a cookie ends, in seconds since the epoch; `inf` if it does not say."""
        return min(
            (float(cookie.expires) for cookie in self._jar if cookie.name == name and cookie.expires),
            default=float("inf"),
        )

    def values(self) -> Iterator[str]:
        return (cookie.value for cookie in self._jar if cookie.value)


class _Policy(DefaultCookiePolicy):
    def __init__(self, jar: CookieJar) -> None:
        super().__init__()
        self._held = jar

    def set_ok(self, cookie: Cookie, request: Any) -> bool:
        text = f"{cookie.name}={cookie.value or ''}"
        if len(text) > MAX_COOKIE_CHARS or not re.fullmatch(r"[\x21-\x3a\x3c-\x7e][\x20-\x3a\x3c-\x7e]*", text):
            return False
        return bool(super().set_ok(cookie, request)) and (
            len(self._held) < MAX_COOKIES or cookie.name in {held.name for held in self._held}
        )


def none() -> CookieJar:
    """An empty jar that accepts nothing, for a client whose cookies are in `Cookies` alone."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def lasting(ends: float) -> bool:
    """Whether a cookie with this end may be a session: one that lasts less than a minute is a
    message to the next page."""
    return ends - time.time() > 60
