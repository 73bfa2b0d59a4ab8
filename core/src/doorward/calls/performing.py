"""A call at its source: within its time, and followed by plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward.http.tracing import traced_by
from doorward.model.errors import DoorwardError, LimitExceeded, LoginRefused
from doorward.plugins.failures import contained

if TYPE_CHECKING:
    from doorward.approvals.logins import Logins
    from doorward.calls.answer_checks import AnswerChecks
    from doorward.calls.call_context import CallContext
    from doorward.model.calls import Call
    from doorward.model.drivers import Source
    from doorward.model.tracing import CallTrace
    from doorward.plugins.manager import Plugins
    from doorward.servers.registry import Servers


class Performing:
    """Has sources perform calls."""

    def __init__(self, servers: Servers, plugins: Plugins, checks: AnswerChecks, logins: Logins) -> None:
        self._servers, self._plugins, self._checks, self._logins = servers, plugins, checks, logins
        self._traces = bool(plugins.hook.trace_call.get_hookimpls())

    async def perform(self, run: CallContext, call: Call) -> Any:
        """The answer of the source; if a login is missing, once a person has logged in. Raises: its errors, without
        credentials; LimitExceeded."""
        try:
            return await self._performed(call)
        except LoginRefused as refused:
            await self._logins.came(run, call, refused)
            return await self._performed(call)

    async def _performed(self, call: Call) -> Any:
        with call.clock.until(call.deadline):
            async with self._servers.using(call.function.server, call.principal) as source:
                try:
                    with contained():
                        return await self._traced(call, source) if self._traces else await source.call(call)
                except DoorwardError as error:
                    raise self._checks.of_source(call, error) from None
        raise LimitExceeded(
            f"{call.function.qualified} did not answer before the run's time was over",
            hint="Ask it for less, or ask for a longer `timeout`.",
        )

    async def _traced(self, call: Call, source: Source) -> Any:
        """Have a plugin follow the call and its requests."""
        trace: CallTrace | None = self._plugins.hook.trace_call(call=call)
        if trace is not None:
            call.trace.update(trace.context)
        with traced_by(trace):
            return await source.call(call)
