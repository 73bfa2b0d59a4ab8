"""A line in the log for each run and call, where `log_level` is `info` or `debug`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward.host.logs import log
from doorward.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from doorward.model.calls import Call, CallRecord
    from doorward.model.programs import Outcome, Program

LEVELS = ("debug", "info")
"""The levels with these lines."""


class LogLines:
    """Names, times and how it ended, never contents."""

    @hookimpl
    def run_finished(self, program: Program, outcome: Outcome) -> None:
        calls = sum(each["count"] for each in outcome.calls)
        error = f"{outcome.error.kind}: {outcome.error.type}" if outcome.error else ""
        waits = outcome.waiting.for_ if outcome.waiting else ""
        ended = {"ms": outcome.ms, "calls": calls, "error": error, "waits_for": waits}
        _line("run", run=program.run, principal=program.principal, **ended)

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        then = record.decision.then
        decision = then if then != "allow" else ""
        name, run, ms = call.function.qualified, call.run, record.ms
        _line("call", function=name, run=run, principal=call.principal, ms=ms, error=record.error, decision=decision)


def _line(event: str, **values: Any) -> None:
    """What there is of these values."""
    log.info(
        event, **{name: round(value, 1) if name == "ms" else value for name, value in values.items() if value != ""}
    )
