"""Follows a configuration that changes while a gateway is open: servers are read again, all else only at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from doorward.config.config import Loaded, reloaded
from doorward.host.cached_file import stamp
from doorward.host.logs import log
from doorward.model.errors import DoorwardError

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.servers.registry import Servers


class Reconfiguration:
    """Watches the file of a configuration, and has its users switch to the servers that are in it now."""

    def __init__(self, loaded: Loaded, servers: Servers, principals: Principals) -> None:
        self._loaded, self._servers = loaded, servers
        self._principals = principals
        self._stamp = loaded.stamp
        self._in_use = {*loaded.config.plugins, *loaded.config.capabilities, *(entry.name for entry in loaded.owners)}

    async def look(self) -> list[str]:
        """Serve what is in the file now, if it has changed. A file that cannot be used as a whole changes nothing, and
        is logged once.

        Returns: the servers to compile.
        """
        if (found := self._found()) == self._stamp:
            return []
        self._stamp = found
        if not found:
            log.warning("configuration_gone", file=str(self._loaded.path), hint="What it said still holds.")
            return []
        try:
            loaded = await anyio.to_thread.run_sync(reloaded, self._loaded)
        except (DoorwardError, OSError) as error:
            self._refuse(str(error), error.hint if isinstance(error, DoorwardError) else None)
            return []
        before, now = self._loaded.rest, loaded.rest
        if keys := sorted(key for key in {*before, *now} if before.get(key) != now.get(key)):
            self._refuse(f"{', '.join(keys)}: read at the start only", "Restart to use what has changed.")
            return []
        if new := [entry for entry in loaded.owners if entry.name not in self._in_use]:
            self._refuse(f"{new[0].id} is loaded at the start only", "Restart to use the keys of servers that it owns.")
            return []
        if broken := next((name for name in loaded.broken if name in self._servers.configured), None):
            self._refuse(f"server {broken}: {loaded.broken[broken]}", loaded.broken[broken].hint)
            return []
        return await self._use(loaded)

    async def _use(self, loaded: Loaded) -> list[str]:
        """Use a new configuration. Servers that it does not change go on undisturbed."""
        servers = self._servers
        before = {name: servers.fingerprint(name) for name in servers.configured}
        self._loaded = loaded
        self._principals.use(loaded)
        servers.use(loaded)
        changed = [name for name in servers.configured if before.get(name) != servers.fingerprint(name)]
        gone = [name for name in {**before, **servers.broken} if name not in servers.configured]
        for name in (*changed, *gone):
            if name not in loaded.broken:
                servers.broken.pop(name, None)
            await servers.renew(name)
        log.info("configuration_read", servers=len(servers.configured), changed=changed, gone=gone)
        return changed

    def _refuse(self, why: str, hint: str | None) -> None:
        hint = hint or "What it said before still holds."
        log.warning("configuration_not_used", file=str(self._loaded.path), why=why, hint=hint)

    def _found(self) -> tuple[int, ...]:
        try:
            return stamp(self._loaded.path.stat())
        except OSError:
            return ()
