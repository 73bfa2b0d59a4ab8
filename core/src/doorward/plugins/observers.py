"""The configured observers, and the hooks through which they learn what happens."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doorward.config.config import Loaded
from doorward.data.json_writing import dump
from doorward.model.errors import RefusedForNow
from doorward.model.events import AuthChosen, CallFinished, Event, RunFinished, RunStarted
from doorward.model.programs import Finding
from doorward.plugins.event_queue import EventQueue
from doorward.plugins.hookspecs import hookimpl
from doorward.plugins.log_lines import LEVELS, LogLines

if TYPE_CHECKING:
    from doorward.model.calls import Call, CallRecord
    from doorward.model.outcomes import Outcome
    from doorward.model.programs import Program
    from doorward.plugins.manager import Plugins

_INSTEAD = "Try again in a minute, or tell the operator: the log of Doorward says why"

MAX_NAME_CHARACTERS = 200
"""Characters of a name in an event: a program chooses the names of its exceptions."""


class Observers:
    """The observers of one gateway, and its hook plugins that open something. Without observers, no hook is called for
    them."""

    def __init__(self, loaded: Loaded, plugins: Plugins, state: Path) -> None:
        """Raises: PluginError, ConfigError: an observer that is configured must observe."""
        self._queues = [
            EventQueue(plugins.id("observer", name), plugins.made("observer", name, loaded, state), plugins.failures)
            for name in dict.fromkeys(loaded.config.observer)
        ]
        if self._queues:
            plugins.manager.register(_Feed(self._queues), "doorward.observers")
            if loaded.config.observer_fail == "closed":
                plugins.manager.register(_Closed(self._queues), "doorward.observers.closed")
        if loaded.config.log_level in LEVELS:
            plugins.manager.register(LogLines(), "doorward.log_lines")
        self._hook_plugins = plugins.lifetimes

    @property
    def names(self) -> list[str]:
        return [queue.plugin.name for queue in self._queues]

    async def open(self) -> None:
        """Open the hook plugins, and begin to deliver events. Raises: PluginError, or a plugin's own error."""
        await self._hook_plugins.open()
        for queue in self._queues:
            queue.start()

    async def flush(self) -> None:
        """Have hook plugins write out what waits in them."""
        await self._hook_plugins.flush()

    async def close(self) -> None:
        """Deliver what waits, close all observers, and then the hook plugins."""
        await asyncio.gather(*(queue.close() for queue in self._queues))
        await self._hook_plugins.close()


class _Feed:
    """Turns what the hooks are told into events without contents."""

    def __init__(self, queues: Sequence[EventQueue]) -> None:
        self._queues = queues

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
                outcome.truncated["bytes"] if outcome.truncated else len(dump(outcome.value)),
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
        for queue in self._queues:
            queue.put(event)


class _Closed:
    """Refuses programs and calls while an observer fails. A refused program is an event, too: with it the observer is
    asked again."""

    def __init__(self, queues: Sequence[EventQueue]) -> None:
        self._queues = queues

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
        failing = next((queue.plugin.name for queue in self._queues if queue.failing), "")
        return f"the observer {failing!r} fails, and nothing is done here that it is not told" if failing else ""


def _digest(program: Program) -> tuple[str, int]:
    code = program.code.encode(errors="surrogatepass")
    return hashlib.sha256(code).hexdigest(), len(code)
