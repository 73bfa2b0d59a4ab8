"""The plugin that stores runs, and lets them go on."""

from __future__ import annotations

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


class DurableRuns:
    """Makes the journals of runs as `[runs]` says, and gives `STORED_RUNS`."""

    def __init__(self, context: PluginContext) -> None:
        self._journals: Journals | None = None

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
        """Forget runs whose time is over: once everything has started, and at the end."""
        if self._journals is not None:
            await self._journals.store.sweep()

    async def close(self) -> None:
        if self._journals is not None:
            await self._journals.store.close()
