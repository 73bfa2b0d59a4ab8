"""A gateway with layers of a plugin, and what others hear of its runs and calls: for tests of layers."""

from __future__ import annotations

from typing import Any

from doorward import Call, Outcome, hookimpl

from doorward_testing.host import Host
from doorward_testing.samples import CONFIG


class Seen:
    """What observers hear of runs and calls, and what guards see of results."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.ended: list[Any] = []
        self.finished: list[Outcome] = []
        self.calls: list[tuple[str, bool, str]] = []
        self.results: list[Any] = []

    @hookimpl
    def run_started(self, program: Any) -> None:
        self.started.append(program)

    @hookimpl
    def run_finished(self, program: Any, outcome: Outcome) -> None:
        self.ended.append(program)
        self.finished.append(outcome)

    @hookimpl
    def call_finished(self, call: Call, record: Any) -> None:
        self.calls.append((call.function.qualified, record.ok, record.error))

    @hookimpl
    def guard_result(self, call: Call, result: Any) -> str | None:
        self.results.append(result)
        return "it is bad" if result == "bad" else None


def plugin(calls: Any = (), runs: Any = ()) -> Any:
    """A hook plugin with these layers."""

    class Layered:
        @hookimpl
        def call_layers(self) -> Any:
            return calls

        @hookimpl
        def run_layers(self) -> Any:
            return runs

    return Layered()


def opened(host: Host, *, more: str = "", config: str = CONFIG, calls: Any = (), runs: Any = ()) -> tuple[Any, Seen]:
    """A gateway with one plugin that has layers, and one that observes."""
    seen = Seen()
    host.install("plugin", "mine", plugin(calls, runs), distribution="acme", version="2.1")
    host.install("plugin", "seen", seen)
    return host.gateway(config.replace("plugins = []", 'plugins = ["seen", "mine"]') + more), seen
