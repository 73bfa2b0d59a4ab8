"""Calls that a process on another machine has suspended: what the client answers is handed on to it by the store that
the machines share, encrypted, and its result back. So a balancer may send each request to any of them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from doorward import Gateway, StateError, log
from doorward.engines import Conflict, Delete, Lease, Notify, Put, StaleLease, Store, scan_all
from doorward_auth_kit import SharedVault, UnreadableEntry
from pydantic_core import from_json, to_json

TABLE, RESULTS, KEYS = "mcp answers", "mcp results", "mcp keys"
STATES = "requestState"
KEY_BYTES = 32

LEASE_SECONDS = 15.0
"""A process that has suspended calls, and has been silent for so long, is taken for dead."""

RENEWAL_SECONDS = 5.0

KEPT_SECONDS = 3600.0
"""Seconds after which what was handed on is forgotten, if nobody has fetched it."""


async def shared_key(gate: Gateway) -> bytes | None:
    """The key of what clients keep for us while they answer, where machines share a store: made once, and encrypted
    there if there is a `vault_key`. One that this does not open is replaced: it is only for questions that wait, and
    without it a gateway whose key was lost could never start again. `None` where none share it. Raises: StateError,
    ConfigError."""
    if not getattr(gate.store, "distributed", False):
        return None
    made = secrets.token_hex(KEY_BYTES)
    key, before = gate.config.vault_keys
    if key is not None:
        vault = SharedVault(gate.store, key, STATES, before)
        try:
            if not (text := await vault.load()):
                await vault.adopt(made)
                text = await vault.load()
        except UnreadableEntry as error:
            hint = "Have all machines the same vault_key? Those with another one cannot take each other's answers."
            log.warning("request_states_unread", why=error.message, hint=hint)
            await vault.save(text := made)
        return bytes.fromhex(text or made)
    if (found := await gate.store.get(KEYS, STATES)) is None:
        with contextlib.suppress(Conflict):
            await gate.store.commit(Put(KEYS, STATES, made.encode(), expected=0))
        found = await gate.store.get(KEYS, STATES)
    return bytes.fromhex(found.value.decode() if found else made)


class OtherMachines:
    """Hands answers on to processes on other machines, and takes those from them: `answer` gets them, and returns a
    result as JSON. `key` is known to all of these processes."""

    def __init__(
        self, store: Store, key: bytes, id: Callable[[], str], answer: Callable[..., Awaitable[bytes]]
    ) -> None:
        from cryptography.fernet import Fernet

        self._store, self._id, self._answer = store, id, answer
        self._box = Fernet(base64.urlsafe_b64encode(key))
        self._lease: Lease | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._works: dict[str, asyncio.Task[None]] = {}

    async def listen(self) -> None:
        """Take answers from others, from now on. If the store is away, there are none."""
        if self._lease is None:
            with contextlib.suppress(StateError):
                self._lease = await self._store.acquire(_lease(self._id()), LEASE_SECONDS)
            if self._lease is not None:
                self._tasks = [asyncio.ensure_future(self._renew()), asyncio.ensure_future(self._take())]

    async def hand_on(self, id: str, **answers: Any) -> Mapping[str, Any] | None:
        """The result of the process of this id; `None` if it does not live, or dies meanwhile. If the request is
        cancelled, the work over there ends. Raises: StateError."""
        name = secrets.token_urlsafe(16)
        key = f"{id}/{name}"
        seen = await self._store.signal(TABLE)
        if not await self._lives(id):
            return None
        sealed = self._box.encrypt(to_json(answers))
        await self._store.commit(Put(TABLE, key, sealed, ttl=KEPT_SECONDS), Notify(TABLE))
        try:
            while (found := await self._store.get(RESULTS, name)) is None:
                seen = await self._store.signal(TABLE, seen, RENEWAL_SECONDS)
                if not await self._lives(id):
                    found = await self._store.get(RESULTS, name)
                    break
            result: Mapping[str, Any] | None = from_json(self._box.decrypt(found.value)) if found else None
            return result
        finally:
            with anyio.CancelScope(shield=True), contextlib.suppress(StateError):
                await self._store.commit(Delete(TABLE, key), Delete(RESULTS, name), Notify(TABLE))

    async def close(self) -> None:
        tasks = [*self._tasks, *self._works.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._lease is not None:
            with contextlib.suppress(StateError):
                await self._store.release(self._lease)

    async def _lives(self, id: str) -> bool:
        """Whether a process of this id takes answers. Raises: StateError."""
        if (lease := await self._store.acquire(_lease(id), 1.0)) is None:
            return True
        await self._store.release(lease)
        return False

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            with contextlib.suppress(StateError):
                try:
                    if self._lease is not None:
                        await self._store.renew(self._lease, LEASE_SECONDS)
                except StaleLease:  # we were paused, and taken for dead
                    self._lease = await self._store.acquire(_lease(self._id()), LEASE_SECONDS) or self._lease

    async def _take(self) -> None:
        """Begin what others hand on, and end what they no longer wait for."""
        seen = 0
        while True:
            try:
                seen = await self._store.signal(TABLE, seen, RENEWAL_SECONDS)
                found = {each.key: each.value for each in await scan_all(self._store, TABLE, f"{self._id()}/")}
            except StateError:
                await asyncio.sleep(1.0)
                continue
            for key in self._works.keys() - found.keys():
                self._works.pop(key).cancel()
            for key in found.keys() - self._works.keys():
                self._works[key] = asyncio.ensure_future(self._work(key, found[key]))

    async def _work(self, key: str, sealed: bytes) -> None:
        from cryptography.fernet import InvalidToken

        with contextlib.suppress(StateError, InvalidToken, ValueError):
            result = self._box.encrypt(await self._answer(**from_json(self._box.decrypt(sealed))))
            name = key.partition("/")[2]
            await self._store.commit(Put(RESULTS, name, result, ttl=KEPT_SECONDS), Notify(TABLE))


def _lease(id: str) -> str:
    return f"{TABLE} {id}"
