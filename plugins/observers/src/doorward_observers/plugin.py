"""Tells the configured observers what happens, by the hooks that plugins have for that."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward import Finding, PluginContext, RefusedForNow, hookimpl
from doorward.administration import dump_json

from doorward_observers.event_queue import EventQueue
from doorward_observers.events import AuthChosen, CallFinished, Event, RunFinished, RunStarted

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Gateway, Outcome, Program

PLUGIN_API = 1

_INSTEAD = "Try again in a minute, or tell the operator: the log of Doorward says why"

MAX_NAME_CHARACTERS = 200
"""Characters of a name in an event: a program chooses the names of its exceptions."""


class Observers:
    """The observers of one gateway. Turns what hooks are told into events without contents."""

    def __new__(cls, context: PluginContext) -> Observers:
        """Those of `observer_fail = "closed"` are guards, too."""
        return super().__new__(_Closed if context.tables.get("observer_fail") == "closed" else cls)

    def __init__(self, context: PluginContext) -> None:
        self._names: Sequence[str] = context.tables.get("observer", [])
        self.queues: list[EventQueue] = []

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def open(self) -> None:
        """Make the observers, and begin to deliver events. (What is made before is not closed if another plugin does
        not open.)

        Raises: PluginError, ConfigError: an observer that is configured must observe.
        """
        gateway, plugins = self._gateway, self._gateway.plugins
        try:
            for name in dict.fromkeys(self._names):
                observer = plugins.made("observer", name, gateway.loaded, gateway.state)
                self.queues.append(EventQueue(plugins.id("observer", name), observer, plugins.failures))
        except BaseException:
            await self.close()
            raise
        for queue in self.queues:
            queue.start()

    async def close(self) -> None:
        """Deliver what waits, and close all observers."""
        await asyncio.gather(*(queue.close() for queue in self.queues))

    @hookimpl
    def doctor_checks(self) -> Sequence[tuple[str, bool, str]]:
        return [(f"observer {queue.plugin.name}", True, "") for queue in self.queues]

    @hookimpl
    def auth_chosen(self, server: str, auth: str) -> None:
        self._put(AuthChosen(time.time(), server, auth))

    @hookimpl
    def run_started(self, program: Program) -> None:
        params = tuple(str(name)[:MAX_NAME_CHARACTERS] for name in program.params)
        self._put(RunStarted(time.time(), program.run, program.principal, *_digest(program), params, program.language))

    @hookimpl
    def run_finished(self, program: Program, outcome: Outcome) -> None:
        error = outcome.error
        self._put(
            RunFinished(
                time.time(),
                program.run,
                program.principal,
                *_digest(program),
                outcome.ok,
                outcome.ms,
                error.kind if error else "",
                error.type[:MAX_NAME_CHARACTERS] if error else "",
                outcome.executor,
                sum(each["count"] for each in outcome.calls),
                outcome.truncated["bytes"] if outcome.truncated else len(dump_json(outcome.value)),
                len(outcome.printed.encode(errors="replace")),
            )
        )

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        function, error = call.function.qualified, record.error[:MAX_NAME_CHARACTERS]
        sizes = record.bytes_in, record.bytes_out
        ended = record.ok, record.ms, *sizes, error, record.details, record.decision.then, record.decision.rule
        self._put(CallFinished(time.time(), call.run, call.principal, function, *ended))

    def _put(self, event: Event) -> None:
        for queue in self.queues:
            queue.put(event)


class _Closed(Observers):
    """Refuses programs and calls while an observer fails. A refused program is an event, too: with it the observer is
    asked again."""

    @hookimpl
    def guard_program(self, program: Program) -> Sequence[Finding] | None:
        why = self._refusal()
        return [Finding(why, instead=_INSTEAD)] if why else None

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        if why := self._refusal():
            raise RefusedForNow(why, hint=f"{_INSTEAD}.")
        return None

    def _refusal(self) -> str:
        failing = next((queue.plugin.name for queue in self.queues if queue.failing), "")
        return f"the observer {failing!r} fails, and nothing is done here that it is not told" if failing else ""


def _digest(program: Program) -> tuple[str, int]:
    code = program.code.encode(errors="surrogatepass")
    return hashlib.sha256(code).hexdigest(), len(code)
