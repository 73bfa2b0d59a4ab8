"""Keeping the catalog of an open gateway as it should be: compiled once, now and then, and when a source says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from doorward.config import module_name
from doorward.errors import DoorwardError

if TYPE_CHECKING:
    from doorward.servers import Servers

PAUSE = 1.0
"""Seconds between two rounds of compiles: a server may say without end that it has changed."""


class Upkeep:
    """Compiles the servers of one gateway in the background."""

    def __init__(self, servers: Servers, refresh: float) -> None:
        self._servers = servers
        self._refresh = refresh or float("inf")
        self._changed: set[str] = set()
        self._told = anyio.Event()
        servers.changed = self._has_changed

    def _has_changed(self, name: str) -> None:
        self._changed.add(name)
        self._told.set()

    async def run(self, done: Callable[[], None]) -> None:
        """Compile what has no compile under this configuration, which callers wait for until `done` is called; then what may
        have changed; then what a source says has changed, and everything again every `refresh` seconds (0: never)."""
        stale = self._servers.stale()
        try:
            async with anyio.create_task_group() as group:
                for name in stale:
                    group.start_soon(self._servers.compile_one, name)
        finally:
            done()
        for name in self._servers.configured.keys() - set(stale):
            if not self._tells_changes(name):
                await self._servers.compile_one(name)
        again = anyio.current_time() + self._refresh
        while True:
            with anyio.move_on_after(again - anyio.current_time()):
                await self._told.wait()
            self._told, due = anyio.Event(), [*self._changed]
            self._changed.clear()
            if anyio.current_time() >= again:
                again, due = anyio.current_time() + self._refresh, [*self._servers.configured]
            async with anyio.create_task_group() as group:
                for name in due:
                    group.start_soon(self._servers.compile_one, name)
            await anyio.sleep(PAUSE)

    def _tells_changes(self, name: str) -> bool:
        """Whether the source needs no asking. One that cannot be had is asked, and that tells what is wrong."""
        try:
            return bool(getattr(self._servers.source(module_name(name)), "tells_changes", False))
        except DoorwardError:
            return False
