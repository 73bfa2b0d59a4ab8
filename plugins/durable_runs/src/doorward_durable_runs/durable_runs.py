"""The plugin that stores runs, and lets them go on."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from doorward import PluginContext, StateError, hookimpl
from doorward.recording import RECORDERS, RECORDINGS

from doorward_durable_runs.agent_tools import TOOL
from doorward_durable_runs.journal.journals import Journals
from doorward_durable_runs.recordings import JournalRecordings
from doorward_durable_runs.stored_runs import STORED_RUNS, StoredRuns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorward import AgentTool, Gateway


FEW_RUNS = 1000
"""Stored runs that are swept as often as there is an occasion."""

RUNS_PER_SECOND = 100
"""Further ones for each second between two sweeps."""


class DurableRuns:
    """Makes the journals of runs as `[runs]` says, and gives `STORED_RUNS`."""

    def __init__(self, context: PluginContext) -> None:
        self._journals: Journals | None = None
        self._sweeps = 0.0

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """See `doorward.plugins.hookspecs`."""
        given = gateway.stores.more.get("runs") if gateway.stores is not None else None
        journals = self._journals = Journals.of(gateway.loaded, gateway.store, given)
        gateway.services.give(RECORDERS, journals)
        gateway.services.give(STORED_RUNS, stored := StoredRuns(journals, gateway))
        gateway.services.give(RECORDINGS, JournalRecordings(stored))

    @hookimpl
    def agent_tools(self) -> Sequence[AgentTool]:
        """See `doorward.plugins.hookspecs`."""
        return [TOOL]

    async def open(self) -> None:
        """Know whether a run is stored before a client asks which tools there are."""
        if self._journals is not None:
            with suppress(StateError):  # whoever needs the store will be told
                await self._journals.store.look()

    async def flush(self) -> None:
        """Forget runs whose time is over. That reads all of them: the more there are, the less often."""
        if self._journals is not None and time.monotonic() >= self._sweeps:
            await self._journals.store.sweep()
            self._sweeps = (
                time.monotonic() + max(0, getattr(self._journals.store, "swept", 0) - FEW_RUNS) / RUNS_PER_SECOND
            )

    async def close(self) -> None:
        if self._journals is not None:
            await self._journals.store.close()
