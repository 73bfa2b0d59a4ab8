"""Connections to sandboxes of a jail to which the host can pass no file descriptor."""

from __future__ import annotations

import contextlib

from doorward_jail.connections.connection import SandboxConnection


class RelayedConnection(SandboxConnection):
    """Over the jail's own channel, where no file descriptor can be passed."""

    async def open(self) -> None:
        self.jail.tell({"fork": self.number})
        await self._is_ready

    def write(self, frame: bytes) -> None:
        with contextlib.suppress(EOFError):
            self.jail.tell({"to": self.number}, frame)

    def unread(self) -> int:
        return self.jail.unread()
