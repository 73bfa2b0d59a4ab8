"""One run of `doorward compile --enhance`: asks a model about every function that has nothing from one yet, and keeps
each answer as it comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
from doorward import ConfigError, DoorwardError, Function, Gateway, ServerError, StateError
from doorward.administration import expected

from doorward_enhance.answer_checks import checked, cost_of
from doorward_enhance.budget import Budget
from doorward_enhance.documentation import documentation
from doorward_enhance.enhancement import Documentation, Enhancement, Enhances
from doorward_enhance.written import Stored, Written, documented, stored

MAX_CONCURRENT_ASKS = 4
ASK_SECONDS = 120.0
"""Seconds after which an answer is no longer waited for."""

Due = tuple[Function, str]
"""A function that a model is to be asked about, and the hash of what is documented of it."""


@dataclass(slots=True)
class Done:
    """What a run did. `known` functions had an answer before, which waited until now for `accepted` of them. `changes`
    are the functions with a new answer, or one that waited. `left` were not asked about."""

    known: int = 0
    accepted: int = 0
    answered: int = 0
    changes: dict[str, tuple[Function, Enhancement]] = field(default_factory=dict)
    dropped: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left: int = 0
    why_left: str = ""
    cost: float = 0.0
    models: set[str] = field(default_factory=set)


class Enhancer:
    """Asks the source of the server `by` about the functions of others. What comes of it is kept in `to`:
    for agents, or until a run accepts it (`waits`)."""

    def __init__(self, gate: Gateway, by: str, to: Written, *, budget: float | None, waits: bool) -> None:
        self._gate, self._by, self._to, self._waits = gate, by, to, waits
        self._source = source_that_enhances(gate, by)
        self._outgoing = gate.servers.outgoing(by)
        self._budget = Budget(budget)
        self.done = Done()

    async def due(self, server: str) -> list[Due]:
        """The functions of a server that a model is to be asked about. What waits is accepted, if that is wanted.

        Raises: StateError.
        """
        catalog, have = self._gate.catalog, self._to.of(server)
        due, accepted = [], {}
        for function in catalog.functions(server):
            now, kept = documented(function, catalog), have.get(function.name)
            if kept is None or kept.documented != now:
                due.append((function, now))
                continue
            self.done.known += 1
            if kept.waits:
                self.done.changes[function.qualified] = function, kept.enhancement()
                accepted[function.name] = replace(kept, waits=False)
        if accepted and not self._waits:
            await self._keep(server, accepted)
            self.done.accepted += len(accepted)
        return due

    async def ask(self, due: Sequence[Due], tell: Callable[[str], None]) -> None:
        """Ask about each, as long as the budget lasts. A failure is told in `done`."""
        todo = deque(due)

        async def work(most: int) -> None:
            while most and todo and self._budget.admit():
                function, now = todo.popleft()
                tell(function.qualified)
                await self._ask(function, now)
                most -= 1

        try:
            await work(1)  # alone, because its price is that of the others
            async with anyio.create_task_group() as group:
                for _ in range(MAX_CONCURRENT_ASKS):
                    group.start_soon(work, len(due))
        finally:
            self.done.left = len(due) - self.done.answered - len(self.done.failed)
            self.done.cost = self._budget.spent
            self.done.why_left = self._budget.why_over if self.done.left else ""

    async def _ask(self, function: Function, now: str) -> None:
        answer = None
        try:
            sent = self._documentation(function)
            answer = await self._answer(sent)
            self._budget.paid(cost_of(answer))
            found = checked(answer, function, sent.text, self._gate.catalog)
            kept = stored(found.enhancement, now, waits=self._waits, scrub=self._gate.secrets.scrub)
            await self._keep(function.server, {function.name: kept})
        except DoorwardError as error:
            why = self._gate.secrets.scrub(str(error))[:500]
            if answer is None:
                self._budget.lost()
            self._budget.judged(useful=False)
            if isinstance(error, (ConfigError, StateError)):
                self._budget.stopped = why
            self.done.failed[function.qualified] = why
            return
        self._budget.judged(useful=True)
        self.done.answered += 1
        self.done.changes[function.qualified] = function, kept.enhancement()
        self.done.models.add(found.enhancement.model)
        if found.dropped:
            self.done.dropped[function.qualified] = found.dropped

    def _documentation(self, function: Function) -> Documentation:
        report = self._gate.catalog.report(function.server)
        definitions = self._gate.discovery.definitions(function.server)
        return documentation(function, report.description if report else "", definitions, self._outgoing)

    async def _answer(self, sent: Documentation) -> Enhancement:
        """Raises: DoorwardError."""
        gate, server = self._gate, self._gate.servers.modules[self._by]
        blamed = gate.plugins.blamed(
            "source", gate.servers.configured[server].settings.source, "enhance", raising=ServerError, server=server
        )
        try:
            with gate.secrets.holds.of_call(self._by), anyio.fail_after(ASK_SECONDS), blamed:
                return expected(Enhancement, await self._source.enhance(sent))
        except TimeoutError:
            raise ServerError(f"{server} did not answer within {ASK_SECONDS:g} s") from None

    async def _keep(self, server: str, given: Mapping[str, Stored | None]) -> None:
        with anyio.CancelScope(shield=True):  # it is paid for
            await self._to.change(server, given)


def source_that_enhances(gate: Gateway, module: str) -> Enhances:
    """The source of a server, which can ask a model. Raises: ConfigError, PluginError."""
    source: object = gate.servers.source(module)
    if not isinstance(source, Enhances):
        raise ConfigError(f"{gate.servers.modules[module]} has no model that could be asked")
    return source
