"""A call at its source: within its time, within the limits of its server, and followed by plugins."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.model.calls import ACCOUNT
from doorward.model.errors import ApiError, DoorwardError, LimitExceeded, LoginRefused, RateLimited
from doorward.model.programs import Wait
from doorward.plugins.cancellation import cancellable
from doorward.plugins.failures import contained, log_left_behind
from doorward.plugins.tracing import traced_by

if TYPE_CHECKING:
    from doorward.calls.answer_checks import AnswerChecks
    from doorward.calls.call_context import CallContext
    from doorward.model.calls import Call, CallTrace
    from doorward.model.drivers import Source
    from doorward.plugins.manager import Plugins
    from doorward.servers.registry import Servers


class Performing:
    """Has sources perform calls."""

    def __init__(self, servers: Servers, plugins: Plugins, checks: AnswerChecks) -> None:
        self._servers, self._plugins, self._checks = servers, plugins, checks
        self._traces = bool(plugins.hook.trace_call.get_hookimpls())

    async def perform(self, run: CallContext, call: Call) -> Any:
        """The answer of the source to a call. If its server takes no more requests for longer than the run has time,
        the run is suspended.

        Raises: its errors, without credentials; LoginRefused, and the call was not made; LimitExceeded.
        """
        try:
            return await self._performed(call)
        except LoginRefused:
            run.set_parked(call, parked=True)
            raise
        except (RateLimited, ApiError) as refused:
            await self._renewed(run, call, refused)
            raise

    async def _renewed(self, run: CallContext, call: Call, refused: RateLimited | ApiError) -> None:
        """Suspend a run until its call will be taken; return if there is no need, or no way."""
        seconds = refused.retry_after
        if (isinstance(refused, ApiError) and refused.status != 429) or seconds is None or seconds <= call.time_left:
            return
        until = time.time() + seconds
        if run.can_wait(until):
            run.set_parked(call, parked=True)
            then = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(math.ceil(until)))
            said = f"{call.function.server} takes no more requests until {then} UTC"
            await run.wait(Wait("limit", said, math.ceil(until)))

    async def _performed(self, call: Call) -> Any:
        with call.clock.until(call.deadline):
            account = call.account
            if account:  # it is for us
                arguments = {name: value for name, value in call.arguments.items() if name != ACCOUNT}
                call = replace(call, arguments=arguments)
            async with self._servers.using(call.function.server, call.principal, account) as source:
                try:
                    with contained():
                        if self._traces:
                            return await self._traced(call, source)
                        return await cancellable(source.call(call), partial(self._left, call))
                except DoorwardError as error:
                    raise await self._checks.of_source(call, error) from None
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
            return await cancellable(source.call(call), partial(self._left, call))

    def _left(self, call: Call) -> None:
        if plugin := self._servers.source_id(call.function.server):
            log_left_behind(plugin, "call", function=call.function.qualified)
