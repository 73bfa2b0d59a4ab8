"""Who holds runs: each process says so in the store, again and again for as long as it holds any. The store's clock
decides when one has been silent for too long."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path

from doorward import StateError
from doorward.engines import Change, Delete, Put, Store, scan_all

LEASE_SECONDS = 15.0
"""Others may take what a process holds that has not renewed its lease for so long."""

RENEWAL_SECONDS = 5.0

TABLE = "run holders"


class Holder:
    """This process, as one that holds runs. One that was silent for too long, and whose runs nobody took, holds them as
    before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._name = ""
        self._renews = 0.0
        self._renewing: asyncio.Task[None] | None = None
        self._unreleased: list[Callable[[], Awaitable[None]]] = []
        self.held: Counter[str] = Counter()
        """How many here hold a run, or try to: one that waits for a person may be gone on with before it is let go."""

    @property
    def name(self) -> str:
        """What names it to others. It is made by the process that first holds a run, which may be a forked one."""
        self._name = self._name or "-".join((_machine(), str(os.getpid()), _started(os.getpid()), secrets.token_hex(4)))
        return self._name

    async def hold(self, run: str) -> None:
        """Hold a run; others know before that this process lives. Raises: StateError."""
        if time.monotonic() >= self._renews:
            await self._renew()
        self.held[run] += 1
        self._renew_later()

    def let_go(self, run: str) -> None:
        """Hold a run no more. Who else here holds it goes on doing so."""
        self.held -= Counter((run,))

    async def release(self, run: str, store: Callable[[], Awaitable[None]]) -> None:
        """Let a run go. `store` says so in the store; where that fails, it is tried again later."""
        self.let_go(run)
        try:
            await store()
        except StateError:
            self._unreleased.append(store)
            self._renew_later()

    async def lives(self, name: str, run: str) -> bool:
        """Whether somebody of this name holds the run. Raises: StateError."""
        if not name or name == self._name or _is_gone(name):
            return name != "" and name == self._name and run in self.held
        return await self._store.get(TABLE, name) is not None

    async def living(self) -> Collection[str]:
        """The names of all who live, itself apart. Raises: StateError."""
        return {each.key for each in await scan_all(self._store, TABLE) if not _is_gone(each.key)} - {self._name}

    def taken_from(self, name: str) -> list[Change]:
        """For a commit that takes a run from somebody who does not live: it is refused if they do after all."""
        if name in ("", self._name):
            return []
        return [Delete(TABLE, name, expected=None if _is_gone(name) else 0)]

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        if self._renews and not self.held:
            with suppress(StateError):
                await self._store.commit(Delete(TABLE, self.name))

    async def _renew(self) -> None:
        at = time.monotonic()
        await self._store.commit(Put(TABLE, self.name, b"", ttl=LEASE_SECONDS))
        self._renews = at + RENEWAL_SECONDS

    def _renew_later(self) -> None:
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._go_on_renewing())

    async def _go_on_renewing(self) -> None:
        while self.held or self._unreleased:
            await asyncio.sleep(RENEWAL_SECONDS)
            with suppress(StateError):
                if self.held:
                    await self._renew()
                while self._unreleased:
                    await self._unreleased[0]()
                    del self._unreleased[0]


def _is_gone(name: str) -> bool:
    """Whether a holder is a process of this machine that has ended. Of others, only their silence tells that."""
    machine, pid, started = (*name.split("-"), "", "", "")[:3]
    return machine == _machine() != "" and pid.isdecimal() and _started(int(pid)) != started


def _started(pid: int) -> str:
    """When a process of this machine was started, in ticks since that was; "" if it has ended or nobody can tell."""
    try:
        state, *more = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else more[18]


@cache
def _machine() -> str:
    """This machine since its last start, as far as its processes see each other; "" if that cannot be told."""
    try:
        about = Path("/proc/sys/kernel/random/boot_id").read_text() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
    return hashlib.sha256(about.encode()).hexdigest()[:12]
