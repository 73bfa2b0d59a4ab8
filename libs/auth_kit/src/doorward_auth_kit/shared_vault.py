"""Credentials that gateways on several machines share: in their store, encrypted."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import anyio
from doorward import ServerError, StateError
from doorward.engines import Conflict, Lease, Notify, Put, Store

from doorward_auth_kit import vault
from doorward_auth_kit.vault import UnreadableEntry, seal, unseal_either

if TYPE_CHECKING:
    from doorward import PluginContext

TABLE = "credentials"

LEASE_SECONDS = 15.0
"""Another process may use an entry after its user has been silent for so long: it has died."""

RENEWAL_SECONDS = 5.0

POLL_SECONDS = 0.1
"""Seconds between two tries to get an entry that another process uses."""

LOOK_SECONDS = 1.0
"""Seconds between two looks whether an entry was marked. The store is not asked at each request."""


class SharedVault:
    """One entry of a store. Without a key there is none: whoever reads a database is not the user whom the permissions
    of a file let in."""

    def __init__(
        self, store: Store, key: Callable[[], str], name: str, before: Callable[[], str] | None = None
    ) -> None:
        self._store, self._key, self._name, self._before = store, key, name, before
        self._about = f"{TABLE} {name}"
        self._lease: Lease | None = None
        self._looks = 0.0
        self._seen = 0

    @classmethod
    def of(cls, context: PluginContext, name: str) -> SharedVault | None:
        """The entry of this name, if this configuration has a store that machines share, and a `vault_key`."""
        if context.store is None or context.vault_key is None or not getattr(context.store, "distributed", False):
            return None
        return cls(context.store, context.vault_key, name, context.vault_key_before)

    async def load(self) -> str | None:
        """The entry; `None` if there never was one, "" if it was forgotten. Raises: UnreadableEntry, StateError."""
        found = await self._store.get(TABLE, self._name)
        if found is None or not found.value:
            return None if found is None else ""
        try:
            text, is_new = await anyio.to_thread.run_sync(
                unseal_either, self._key, self._before, self._name, found.value.decode()
            )
        except ValueError:
            raise UnreadableEntry(
                "cannot be read: it was encrypted with another `vault_key`, or is damaged",
                place=f"{self._about} in the store",
                hint="Set the same vault_key on all machines; while you change it, vault_key_before, too. If it is "
                "lost, log in again.",
            ) from None
        if not is_new:
            with contextlib.suppress(Conflict, StateError):  # it stays as it is, or somebody has written it meanwhile
                await self._put(text, expected=found.version)
        return text

    async def save(self, text: str) -> None:
        """Write or replace the entry. Raises: StateError; StaleLease if another process uses it meanwhile."""
        await self._put(text)

    async def adopt(self, text: str) -> bool:
        """Write the entry if there never was one. Returns: whether it was written. Raises: StateError."""
        try:
            await self._put(text, expected=0)
        except Conflict:
            return False
        return True

    async def forget(self) -> None:
        """Empty the entry: no machine takes an earlier one of its own for it. Raises: StateError."""
        await self._store.commit(Put(TABLE, self._name, b""), fences=self._fences())

    async def mark(self) -> None:
        """Tell all processes that hold this entry that it is out of date. Raises: StateError."""
        await self._store.commit(Notify(self._about))

    async def marked(self) -> bool:
        """Whether it was marked since the last look, as far as the store can be asked."""
        if time.monotonic() < self._looks:
            return False
        self._looks = time.monotonic() + LOOK_SECONDS
        before = self._seen
        with contextlib.suppress(StateError):
            self._seen = await self._store.signal(self._about)
        return before != self._seen

    async def note(self, what: str) -> None:
        """Remember something for ever, for all machines. Raises: StateError."""
        await self._store.commit(Put(TABLE, what, b"-"))

    async def noted(self, what: str) -> bool:
        """Whether `note` was called with it. Raises: StateError."""
        return await self._store.get(TABLE, what) is not None

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Use the entry as the only process of all machines. Raises: StateError, ServerError."""
        patience = anyio.current_time() + vault.LOCK_SECONDS
        while (lease := await self._store.acquire(self._about, LEASE_SECONDS)) is None:
            if anyio.current_time() > patience:
                raise ServerError(
                    "another process has been renewing the token for a minute", hint="Is one of them stuck?"
                )
            await anyio.sleep(POLL_SECONDS)
        self._lease, renewing = lease, asyncio.ensure_future(self._renew(lease))
        try:
            yield
        finally:
            self._lease = None
            renewing.cancel()
            with anyio.CancelScope(shield=True), contextlib.suppress(StateError):
                await self._store.release(lease)

    async def _put(self, text: str, expected: int | None = None) -> None:
        sealed = await anyio.to_thread.run_sync(seal, self._key(), self._name, text)
        await self._store.commit(Put(TABLE, self._name, sealed.encode(), expected), fences=self._fences())

    def _fences(self) -> tuple[Lease, ...]:
        return (self._lease,) if self._lease else ()

    async def _renew(self, lease: Lease) -> None:
        while True:
            await anyio.sleep(RENEWAL_SECONDS)
            with contextlib.suppress(StateError):  # whoever writes is told
                await self._store.renew(lease, LEASE_SECONDS)
