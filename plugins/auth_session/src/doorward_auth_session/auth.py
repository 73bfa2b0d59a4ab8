"""The `httpx2.Auth` of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import httpx2
from doorward import ServerError, log
from doorward_auth_kit import Backoff, FetchedAuth, Renewal, exchange, plain_client

from doorward_auth_session import cookies
from doorward_auth_session.login import Login, fields
from doorward_auth_session.open_session import OpenSession
from doorward_auth_session.urls import SessionUrls

if TYPE_CHECKING:
    from doorward import PluginContext

    from doorward_auth_session.settings import SessionSettings

LOGOUT_SECONDS = 5.0
"""How long a logout may take."""


class SessionAuth(FetchedAuth[OpenSession]):
    """Uses one session for all requests; opens another when it ends or is refused, at most once for each request."""

    def __init__(self, context: PluginContext[SessionSettings]) -> None:
        self._context, self._urls = context, SessionUrls(context)
        self._backoff = Backoff(context.name)
        self._sessions = Renewal[OpenSession](self._open)
        advice = f"Check the auth of {context.name}: it logs in, and is refused nevertheless."
        super().__init__(context.name, self._urls.home, self._sessions, _put, advice=advice)

    async def _open(self, refused: OpenSession | None) -> OpenSession:
        try:
            login = Login(self._context, self._urls, await fields(self._context.settings))
            return await self._backoff.ask(login.digest, login)
        except ServerError as error:
            raise type(error)(f"no session for {self._context.name}: {error}", hint=error.hint) from None

    async def after(self, response: httpx2.Response, credential: OpenSession) -> OpenSession | None:
        credential.take(response)
        if not self._ended(response):
            return None
        if credential.doubted:
            self._require_no_login(response)
            return None
        return await self.renew(credential)

    async def check(self, response: httpx2.Response, credential: OpenSession) -> None:
        credential.take(response)
        if self._ended(response):
            credential.doubt()
        self._require_no_login(response)
        await super().check(response, credential)

    def _require_no_login(self, response: httpx2.Response) -> None:
        if self._urls.asks_to_log_in(response):
            raise ServerError(f"{self._context.name} sends to its login, though there was one", hint=self._advice)

    def _ended(self, response: httpx2.Response) -> bool:
        """Whether the server says that there is no session, or none any more."""
        return response.status_code in self._context.settings.expired or self._urls.asks_to_log_in(response)

    async def log_out(self) -> None:
        """End the session at the server, if there is one. A failure is no error: the session will end by itself."""
        opened, url = self._sessions.held, self._urls.logout
        self._sessions.held = None
        if opened is None or url is None:
            return
        status = 0
        with anyio.move_on_after(LOGOUT_SECONDS):
            try:
                async with plain_client(str(url), cookies=cookies.none()) as client:
                    request = client.build_request(self._context.settings.logout_method, url)
                    opened.put(request)
                    status = (await exchange(client, request)).status_code
            except ServerError:
                pass
        if not 200 <= status < 400:
            log.warning("logout_failed", server=self._context.name, status=status)


def _put(request: httpx2.Request, opened: OpenSession) -> None:
    opened.put(request)
