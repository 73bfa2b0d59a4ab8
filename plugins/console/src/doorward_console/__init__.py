"""Pages for the people who answer for agents: what waits for their yes, what ran, what there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward import hookimpl

from doorward_console.panel import ConsoleHooks, Found, Moved, Panel, Question
from doorward_console.settings import ConsoleSettings
from doorward_console.visitor import Visitor

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Gateway, Outcome, PluginContext, Program
    from doorward.serving import RawSite

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

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @hookimpl
    def http_pages(self) -> Sequence[RawSite]:
        from doorward_console.recent import Recent
        from doorward_console.site import Site, site_of

        self._recent = Recent()
        return [site_of(Site(self._gateway, self._settings, self._is_operator, self._recent))]

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
