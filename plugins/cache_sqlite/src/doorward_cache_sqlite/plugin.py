"""The plugin that keeps programs, in whatever cache the configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import Gateway, PluginContext, Service, hookimpl
from doorward.sandboxing import KEPT_PROGRAMS

from doorward_cache_sqlite.saves_programs import SAVES

if TYPE_CHECKING:
    from doorward_cache_sqlite.kept_programs import KeptPrograms

PLUGIN_API = 1

KEPT = Service["KeptPrograms"]("what lists kept programs", "doorward-cache-sqlite")
"""For the commands of this distribution."""


class KeepsPrograms:
    """Gives what keeps programs to a gateway."""

    def __init__(self, context: PluginContext) -> None:
        self._kept: KeptPrograms | None = None

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        from doorward_cache_sqlite.kept_programs import KeptPrograms

        self._kept = KeptPrograms(gateway)
        gateway.services.give(KEPT_PROGRAMS, self._kept)
        gateway.services.give(KEPT, self._kept)
        gateway.services.give(SAVES, self._kept)

    async def close(self) -> None:
        if self._kept is not None:
            await self._kept.close()
