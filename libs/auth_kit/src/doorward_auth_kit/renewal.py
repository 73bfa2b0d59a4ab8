"""A credential that is fetched: there when a request needs it, renewed in time, by one request for all that wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from doorward import DoorwardError, LoginRefused, ServerError, log

MARGIN_SECONDS = 30.0
"""Seconds before its end from which on a credential is renewed; half of its life, if that is less."""
RETRY_SECONDS = 1.0
"""Seconds for which a provider is not asked again after it could not be reached. Doubled each time, up to
`MAX_RETRY_SECONDS`."""
MAX_RETRY_SECONDS = 10.0
REFUSED_RETRY_SECONDS = 30.0
"""The same after it refused, up to `MAX_REFUSED_RETRY_SECONDS`: an account that is tried over and over gets locked."""
MAX_REFUSED_RETRY_SECONDS = 900.0


class Credential(Protocol):
    """What is fetched: when it was got and when it ends, in seconds since the epoch by this machine's clock (`inf`:
    nobody said)."""

    @property
    def got(self) -> float: ...
    @property
    def ends(self) -> float: ...


C = TypeVar("C", bound=Credential)
E = TypeVar("E", bound=DoorwardError)


def due(credential: Credential) -> float:
    """From when on it should be renewed, in seconds since the epoch."""
    if credential.ends == float("inf"):
        return credential.ends
    return credential.ends - min(MARGIN_SECONDS, (credential.ends - credential.got) / 2)


class Renewal(Generic[C]):
    """Hands out one credential. `fetch(refused)` gets it: another one than that which the server has refused, if it
    has."""

    def __init__(self, fetch: Callable[[C | None], Awaitable[C]]) -> None:
        self._fetch = fetch
        self._running: asyncio.Future[C] | None = None
        self._refused: C | None = None
        """What whoever began that knew to be refused."""
        self.held: C | None = None

    async def get(self, refused: C | None = None) -> C:
        """A credential; another one than that which the server has refused.

        Raises: what `fetch` raises, each waiter an error of its own; nobody waits where one is there that still holds.
        """
        held = self.held
        if held is not None and held != refused and time.time() < due(held):
            return held
        joins = self._running is not None and not self._running.done()
        if self._running is None or not joins:
            # A task of its own: who asked first may be gone before the answer, with which an old refresh token ends.
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
    """Stands between us and a provider that fails: it is asked again only after a while, and meanwhile the same error
    is told."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._failed: tuple[str, float, ServerError] | None = None
        self._times = 0

    async def ask(self, what: str, work: Callable[[], Awaitable[C]]) -> C:
        """What `work` comes to. `what` it asks with (a digest of the secrets, for example): with others it is asked at
        once.

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
    """A new error that says the same: one that was raised before has the trace of another call."""
    return type(error)(error.message, hint=error.hint)
