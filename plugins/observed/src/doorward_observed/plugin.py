"""The plugin: it looks at results as calls answer them, and says of functions what theirs were like."""

from __future__ import annotations

from typing import Any

from doorward import Call, Function, Gateway, Reply, StateError, hookimpl, log
from doorward.administration import FunctionNotes, open_store
from doorward.configuration import Loaded
from doorward.texts import Observation
from doorward.values import if_repeated

from doorward_observed.observations import Observations, clear
from doorward_observed.shapes import as_schema, text_in


class Observed(FunctionNotes):
    """Learns from results, and says of functions what theirs were like."""

    def __init__(self, context: Any = None) -> None:
        pass

    @staticmethod
    async def clean(loaded: Loaded) -> list[str]:
        """Forget all of it, with the catalog. Returns: what was forgotten."""
        async with open_store(loaded) as store:
            count = await clear(store)
        return [f"what was observed of the results of {count} functions"] if count else []

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway, self.observations = gateway, Observations(gateway.store)
        gateway.catalog.notes.add(self)
        gateway.on_answer(self._learn)

    async def open(self) -> None:
        try:
            await self.observations.read()
        except StateError as error:
            log.warning("observed_not_read", why=error.message, hint=error.hint)

    async def flush(self) -> None:
        """Store what results were like, and have others know of which servers that has changed."""
        if changed := await self.observations.flush():
            self._gateway.plugins.hook.results_observed(servers=changed)

    async def close(self) -> None:
        await self.observations.flush(everything=True)

    def result(self, function: Function) -> Observation | None:
        seen = self.observations.of(function) if _is_open(function) else None
        if seen is None or (function.returns is not None and not text_in(seen.shape)):
            return None
        return Observation(as_schema(seen.shape), text_in(seen.shape), seen.times, seen.last)

    def _learn(self, call: Call, reply: Reply) -> None:
        function = call.function
        if (
            call.wants_text is if_repeated  # else it may not be what our own style gives
            and _is_open(function)
            and not self._gateway.servers.per_principal(function.server)  # others must not learn it
        ):
            self.observations.learn(function, reply.value)


def _is_open(function: Function) -> bool:
    """Whether a function's document says nothing about its results, or only that they are texts."""
    returns = function.returns
    return returns is None or (returns.get("type") == "string" and not {"format", "enum", "const"} & returns.keys())
