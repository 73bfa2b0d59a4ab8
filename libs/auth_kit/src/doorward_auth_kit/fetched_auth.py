"""The `httpx2.Auth` of a fetched credential."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Generic

import httpx2
from doorward import ServerError

from doorward_auth_kit.credential_home import CredentialHome
from doorward_auth_kit.exchange import MAX_ANSWER_BYTES
from doorward_auth_kit.renewal import C, Renewal

USELESS_SECONDS = 5.0
"""After a server has refused a new credential too, no other is fetched for so long."""

MAX_REFUSED_CREDENTIALS, REFUSED_SECONDS = 10, 30.0
"""A server may refuse so many credentials in so many seconds; then no other is fetched. If a server refused each
credential after its first use, we would log in with every call, and the provider might lock the account."""


class FetchedAuth(httpx2.Auth, Generic[C]):
    """Puts the credential into each request to its home (`put`). If the server refuses it with 401, tries another one,
    once."""

    def __init__(
        self,
        server: str,
        home: CredentialHome,
        renewal: Renewal[C],
        put: Callable[[httpx2.Request, C], None],
        *,
        advice: str = "",
    ) -> None:
        self._server, self._home, self._renewal, self._put, self._advice = server, home, renewal, put, advice
        self._useless: tuple[C, float] | None = None
        self._refused: list[tuple[C, float]] = []

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        self._home.check(request)
        credential = await self._renewal.get()
        self._put(request, credential)
        response = yield request
        if (other := await self.after(response, credential)) is None:
            return
        response.stream = Capped(response.stream, self._server)  # httpx2 reads it to its end before it sends again
        self._put(request, other)
        response = yield request
        await self.check(response, other)

    async def after(self, response: httpx2.Response, credential: C) -> C | None:
        """The credential for a second try of the request; `None` if there should be none."""
        if response.status_code != 401:
            return None
        if self._useless is not None and self._useless[0] == credential and time.monotonic() < self._useless[1]:
            raise self._refusal()
        return await self.renew(credential)

    async def renew(self, refused: C) -> C:
        """A credential other than the refused one. Raises: ServerError if too many were refused; what fetching
        raises."""
        now = time.monotonic()
        self._refused = [(each, at) for each, at in self._refused if now - at < REFUSED_SECONDS]
        if all(each != refused for each, _ in self._refused):
            if len(self._refused) >= MAX_REFUSED_CREDENTIALS:
                raise self._refusal()
            self._refused.append((refused, now))
        return await self._renewal.get(refused)

    async def check(self, response: httpx2.Response, credential: C) -> None:
        """Check the second answer. Raises: ServerError if the server refuses this credential too."""
        if response.status_code == 401:
            self._useless = credential, time.monotonic() + USELESS_SECONDS
            raise self._refusal()

    def _refusal(self) -> ServerError:
        return ServerError(f"{self._server} refuses the credentials that it was given", hint=self._advice or None)


class Capped(httpx2.AsyncByteStream):
    """The body of an answer, of bounded size."""

    def __init__(self, stream: Any, who: str) -> None:
        self._stream, self._who = stream, who

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise ServerError(
                    f"{self._who} refuses its credentials, with more than {MAX_ANSWER_BYTES // 1024} KiB of text"
                )
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
