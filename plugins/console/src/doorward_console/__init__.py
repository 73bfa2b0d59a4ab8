"""Pages for the people who answer for agents: what waits for their yes, what ran, what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doorward import hookimpl

from doorward_console.panel import ConsoleHooks, Found, Moved, Panel, Question
from doorward_console.settings import ConsoleSettings
from doorward_console.visitor import Visitor

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Function, Gateway, Outcome, PluginContext, Program
    from doorward.serving import RawSite

    from doorward_console.compile_changes import CompileChanges
    from doorward_console.recent import Recent

PLUGIN_API = 1

__all__ = ["Console", "ConsoleHooks", "ConsoleSettings", "Found", "Moved", "Panel", "Question", "Visitor"]


class Console:
    """The pages of one gateway. What they need is imported when HTTP is served; else nothing is remembered."""

    hookspecs = (ConsoleHooks,)

    def __init__(self, context: PluginContext) -> None:
        self._settings: ConsoleSettings = context.tables.get("console") or ConsoleSettings()
        self._is_operator = context.members(self._settings.operators, "[console] operators")
        self._recent: Recent | None = None
        self._compiles: CompileChanges | None = None

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @hookimpl
    def http_pages(self) -> Sequence[RawSite]:
        from doorward_console.compile_changes import CompileChanges
        from doorward_console.recent import Recent
        from doorward_console.site import Site, site_of

        self._recent, self._compiles = Recent(), CompileChanges(self._gateway)
        site = Site(self._gateway, self._settings, self._is_operator, self._recent, self._compiles)
        return [site_of(site)]

    @hookimpl
    def source_compiled(self, server: str, functions: list[Function], definitions: dict[str, Any]) -> None:
        if self._compiles is not None:
            self._compiles.remember(server)

    @hookimpl
    async def compile_ended(self, server: str) -> None:
        if self._compiles is not None:
            await self._compiles.compare(server)

    @hookimpl
    def run_started(self, program: Program) -> None:
        if self._recent is not None:
            self._recent.started(program)

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        if self._recent is not None:
            self._recent.called(call, record)

    @hookimpl
    def run_finished(self, program: Program, outcome: Outcome) -> None:
        if self._recent is not None:
            self._recent.finished(program, outcome)
