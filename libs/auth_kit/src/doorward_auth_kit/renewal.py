"""A fetched credential: renewed before it ends, by one request for all who wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from doorward import DoorwardError, LoginRefused, ServerError, log

MARGIN_SECONDS = 30.0
"""A credential is renewed so long before its end, or after half of its life if that is later."""
RETRY_SECONDS = 1.0
"""A provider that could not be reached is asked again after this time, which doubles with each failure, up to
`MAX_RETRY_SECONDS`."""
MAX_RETRY_SECONDS = 10.0
REFUSED_RETRY_SECONDS = 30.0
"""The same after a refusal, up to `MAX_REFUSED_RETRY_SECONDS`: too many failed logins lock an account."""
MAX_REFUSED_RETRY_SECONDS = 900.0


class Credential(Protocol):
    """A fetched credential: when it was got and when it ends, in seconds since the epoch by this machine's clock
    (`inf`: unknown)."""

    @property
    def got(self) -> float: ...
    @property
    def ends(self) -> float: ...


C = TypeVar("C", bound=Credential)
E = TypeVar("E", bound=DoorwardError)


def due(credential: Credential) -> float:
    """The time at which to renew it, in seconds since the epoch."""
    if credential.ends == float("inf"):
        return credential.ends
    return credential.ends - min(MARGIN_SECONDS, (credential.ends - credential.got) / 2)


class Renewal(Generic[C]):
    """Hands out one credential. `fetch(refused)` gets it; `refused` is the one that the server has refused, if any."""

    def __init__(self, fetch: Callable[[C | None], Awaitable[C]]) -> None:
        self._fetch = fetch
        self._running: asyncio.Future[C] | None = None
        self._refused: C | None = None
        """The refused credential for which the running fetch was begun."""
        self.held: C | None = None

    async def get(self, refused: C | None = None) -> C:
        """A credential other than the refused one. While one is held that has not ended, callers do not wait.

        Raises: what `fetch` raises, a new error for each waiter.
        """
        held = self.held
        if held is not None and held != refused and time.time() < due(held):
            return held
        joins = self._running is not None and not self._running.done()
        if self._running is None or not joins:
            # A task of its own: the first caller may be cancelled before the answer, which ends an old refresh token.
            self._running, self._refused = asyncio.ensure_future(self._renew(refused)), refused
            self._running.add_done_callback(lambda done: done.cancelled() or done.exception())
        if held is not None and held != refused and time.time() < held.ends:
            return held
        knew = self._refused == refused
        try:
            got = await asyncio.shield(self._running)
        except DoorwardError as error:
            raise again(error) from None
        if joins and not knew and refused is not None and got == refused:
            return await self.get(refused)
        return got

    async def _renew(self, refused: C | None) -> C:
        self.held = await self._fetch(refused)
        return self.held


class Backoff:
    """Spares a provider that fails: it is asked again only after a while, and until then the same error is raised."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._failed: tuple[str, float, ServerError] | None = None
        self._times = 0

    async def ask(self, what: str, work: Callable[[], Awaitable[C]]) -> C:
        """The result of `work`. `what` stands for the secrets with which it asks, for example a digest: with other
        secrets the provider is asked at once.

        Raises: LoginRefused, ServerError.
        """
        if self._failed is not None and self._failed[0] != what:
            self._failed, self._times = None, 0
        if self._failed is not None and time.monotonic() < self._failed[1]:
            raise again(self._failed[2])
        try:
            got = await work()
        except ServerError as error:
            refused = isinstance(error, LoginRefused)
            # Without the error's text: it may quote a secret, and not every log is scrubbed.
            log.warning("no_new_credential", server=self._server, refused=refused)
            least, most = (
                (REFUSED_RETRY_SECONDS, MAX_REFUSED_RETRY_SECONDS) if refused else (RETRY_SECONDS, MAX_RETRY_SECONDS)
            )
            self._failed = what, time.monotonic() + min(most, least * 2**self._times), error
            self._times = min(self._times + 1, 10)
            raise
        self._failed, self._times = None, 0
        return got


def again(error: E) -> E:
    """A new error that says the same. The old one has the traceback of another call."""
    return type(error)(error.message, hint=error.hint)
