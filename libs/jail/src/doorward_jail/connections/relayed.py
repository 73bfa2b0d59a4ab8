"""Connections to sandboxes that cannot be passed file descriptors: they share the jail's channel."""

from __future__ import annotations

import contextlib

from doorward_jail.connections.connection import SandboxConnection


class RelayedConnection(SandboxConnection):
    """Uses the jail's own channel, on which a relay in the jail passes frames on."""

    async def open(self) -> None:
        self.jail.tell({"fork": self.number})
        await self._is_ready

    def write(self, frame: bytes) -> None:
        with contextlib.suppress(EOFError):
            self.jail.tell({"to": self.number}, frame)

    def unread(self) -> int:
        return self.jail.unread()
