"""An open session: what it adds to requests, and what it learns from answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from doorward_auth_session.cookies import Cookies
from doorward_auth_session.csrf import Csrf

if TYPE_CHECKING:
    import httpx2
    from doorward import PluginContext

    from doorward_auth_session.settings import SessionSettings
    from doorward_auth_session.urls import SessionUrls

DOUBT_SECONDS = 30.0
"""How long a session that was refused at once is not replaced: the next one would fare no better."""


class OpenSession:
    """`got` and `ends` are in seconds since the epoch; `token` is empty where cookies are the session."""

    def __init__(self, context: PluginContext[SessionSettings], urls: SessionUrls) -> None:
        self._context, self._settings, self._urls = context, context.settings, urls
        self.got = time.time()
        self.ends = self.got + self._settings.expires_seconds
        self.cookies, self.csrf, self.token = Cookies(), Csrf(self._settings), ""
        self._doubted = float("-inf")

    def put(self, request: httpx2.Request) -> None:
        """Add the credentials to a request. They replace what the program sent under the same names."""
        self.redact()
        self.put_cookies(request, only=self._goes)
        if self.token:
            request.headers[self._settings.token_header] = self._settings.token_prefix + self.token
        if self._settings.wants_csrf:
            self.csrf.put(request, self.cookies, self._urls.page)

    def put_cookies(self, request: httpx2.Request, only: Callable[[str], bool] = lambda name: True) -> None:
        """Add the cookies that belong with the request."""
        ours = {name: value for name, value in self.cookies.fitting(request).items() if only(name)}
        theirs = [pair.strip() for pair in request.headers.get("Cookie", "").split(";")]
        others = [pair for pair in theirs if pair and pair.partition("=")[0].strip() not in ours]
        if both := [*others, *(f"{name}={value}" for name, value in ours.items())]:
            request.headers["Cookie"] = "; ".join(both)

    def _goes(self, name: str) -> bool:
        """Whether a cookie is sent to the server: those of the session are, and the one that
        belongs with the CSRF token."""
        if self._settings.cookie_name:
            return name == self._settings.cookie_name or name in self.csrf.names()
        return not self._settings.token_field or name in self.csrf.names()

    def take(self, response: httpx2.Response) -> set[str]:
        """Take cookies and CSRF token from an answer. Returns: the names of the cookies that it set."""
        names = self.cookies.take(response)
        self.redact()
        return names

    def redact(self) -> None:
        for value in (
            *self.cookies.values(),
            *sorted(self.csrf.values(self.cookies)),
            *([self.token] if self.token else ()),
        ):
            self._context.redact(value)

    def doubt(self) -> None:
        """Note that it was refused although it is new."""
        self._doubted = time.monotonic()

    @property
    def doubted(self) -> bool:
        return time.monotonic() - self._doubted < DOUBT_SECONDS
