"""The plugin: it sees runs and their answers, and gives the decider that judges by them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from doorward import Call, Decider, DoorwardError, Gateway, Outcome, PluginContext, Reply, Run, RunLayer, hookimpl

from doorward_provenance.flow import ANY
from doorward_provenance.hiding import hidden
from doorward_provenance.labels import LISTS, Labelled
from doorward_provenance.origins import Origins
from doorward_provenance.running import Runs
from doorward_provenance.settings import ProvenanceSettings
from doorward_provenance.sharing import Sharing


class Provenance:
    """Knows of each argument whether the user's program said it, or an answer did."""

    def __init__(self, context: PluginContext) -> None:
        """Raises: ConfigError for an unknown group."""
        settings: ProvenanceSettings = context.tables.get("provenance") or ProvenanceSettings()
        self._settings = settings
        labels = self.labels = Labelled(settings)
        is_tainted = context.members(settings.tainted, "[provenance] tainted")
        self._gateway: Gateway | None = None
        self._hides = settings.handles
        store, seconds = context.store, settings.minutes * 60
        sharing = Sharing(store, seconds) if store is not None and store.lasts else None
        kinds = settings.declassify
        self._runs = Runs(labels, is_tainted, seconds, self._resolve, declassify=kinds, sharing=sharing)
        self._origins = Origins(settings, labels, self._runs)

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway = gateway
        gateway.on_answer(self._answered)
        gateway.catalog.notes.add(self.labels)
        for name in LISTS:
            gateway.principals.expect(f"[provenance] {name}", getattr(self._settings, name))

    def _answered(self, call: Call, reply: Reply) -> None:
        more = [dict(reply.headers)] if reply.headers else []
        self._runs.answered(call, [reply.value, *more] if more else reply.value)

    @hookimpl
    def change_result(self, call: Call, result: Any) -> None:
        """Changes nothing: the words of an error are an answer, too."""
        if isinstance(result, DoorwardError):
            self._runs.answered(call, [result.message, result.hint, getattr(result, "body", "")])

    @hookimpl
    def run_layers(self) -> list[RunLayer]:
        return [RunLayer("provenance", self._around)]

    @hookimpl
    def deciders(self) -> list[Decider]:
        return [self._origins]

    def _resolve(self, path: Sequence[str]) -> str | None:
        """The qualified name of the function that a path in a program means; see `Resolve`."""
        if self._gateway is None:
            return ANY
        if path[0] not in self._gateway.servers.modules:
            return None
        function = self._gateway.catalog.function(path[0], path[1]) if len(path) == 2 else None
        return function.qualified if function is not None else ANY

    async def _around(self, run: Run, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        principal = run.program.principal
        await self._runs.load(principal)
        try:
            with self._runs.begun(run.program, goes_on=run.goes_on) as running:
                outcome = await proceed()
                return hidden(outcome, run, running) if self._hides and running.has_strangers else outcome
        finally:
            with anyio.CancelScope(shield=True):
                await self._runs.save(principal)
