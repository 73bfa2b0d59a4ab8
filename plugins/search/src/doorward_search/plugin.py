"""The plugin: a search engine for the gateway, and a layer around its runs to learn from them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from doorward import (
    Function,
    Gateway,
    Outcome,
    PluginContext,
    Run,
    RunLayer,
    StateError,
    hookimpl,
    log,
)
from doorward.searching import SEARCH, Found, Given, Related, SearchEngine
from doorward.searching import Search as Asked

from doorward_search.derived import GRAPH, SEGMENT, graph_of, segment_of
from doorward_search.learning.learning import Learning
from doorward_search.learning.run_record import RunRecord
from doorward_search.learning.stored_lessons import EARLIER, StoredLessons
from doorward_search.settings import SearchSettings

if TYPE_CHECKING:
    from doorward.configuration import Loaded

    from doorward_search.engine import Engine
    from doorward_search.graph.graphs import Graphs
    from doorward_search.joined_index import JoinedIndex
    from doorward_search.views.search_views import SearchViews


class Search:
    """Finds functions by words, and learns from use."""

    def __init__(self, context: PluginContext) -> None:
        self._settings: SearchSettings = context.tables.get("search") or SearchSettings()
        self._names: Sequence[str] = context.tables.get("search_view", [])
        self._renewed: set[str] = set()
        self._embedding: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._task: asyncio.Task[None] | None = None

    @staticmethod
    async def clean(loaded: Loaded) -> list[str]:
        """Remove from the store what is made again of the catalog. Returns: what was there. Raises: StateError."""
        from doorward.administration import open_store

        from doorward_search.views.stored_vectors import StoredVectors

        async with open_store(loaded) as store:
            count = await StoredVectors(store).clear()
        return [f"{count} vectors of functions"] if count else []

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """Raises: PluginError, ConfigError of a search view."""
        lessons = StoredLessons(gateway.store, gateway.state / EARLIER)
        self.learning = Learning(self._settings, lessons, gateway.catalog)
        self.engine = FunctionSearch(gateway, self.learning, self._names)
        if self._names:
            self._embedding = partial(self.engine.views.run, gateway.compiles)
        gateway.catalog.derives.add(SEGMENT, segment_of)
        gateway.catalog.derives.add(GRAPH, graph_of)
        gateway.services.give(SEARCH, self.engine)

    @hookimpl
    def run_layers(self) -> list[RunLayer]:
        return [RunLayer("learning", self._around_run)] if self._settings.learn else []

    async def _around_run(self, run: Run, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Learn from a run when it ends, however it does."""
        record = RunRecord(run.program.principal)
        run.state.on_answer(lambda call, reply: record.called(call.function, call.arguments, reply.value, reply.size))
        try:
            return await proceed()
        finally:
            self.learning.end(record)

    @hookimpl
    def results_observed(self, servers: Iterable[str]) -> None:
        self._renewed.update(servers)

    async def open(self) -> None:
        if self._embedding is not None:
            self._task = asyncio.create_task(self._embedding())

    async def flush(self) -> None:
        """Make the graphs anew that other results have changed, and write what was learned."""
        for server in [*self._renewed]:
            self._renewed.discard(server)
            try:
                await self.engine.graphs.renew(server)
            except StateError as error:
                self._renewed.add(server)
                log.warning("graph_not_stored", server=server, why=str(error), hint="It is made again in a moment.")
        await self.learning.flush()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            await self.engine.views.close()
        await self.learning.close()


class FunctionSearch(SearchEngine):
    """The engine of a gateway. Its parts are made when they are first needed: what ranks needs numpy, a tenth of a
    second that a gateway's start does not wait."""

    def __init__(self, gateway: Gateway, learning: Learning, views: Sequence[str]) -> None:
        self._gateway, self._learning, self._names = gateway, learning, views

    @cached_property
    def index(self) -> JoinedIndex:
        """The index of all functions."""
        from doorward_search.joined_index import JoinedIndex

        return JoinedIndex(self._gateway.catalog)

    @cached_property
    def graphs(self) -> Graphs:
        """Who gives what functions need."""
        from doorward_search.graph.graphs import Graphs

        return Graphs(self._gateway.catalog)

    @cached_property
    def views(self) -> SearchViews:
        """The configured search views. Raises: PluginError, ConfigError."""
        from doorward_search.views.search_views import SearchViews

        gate = self._gateway
        return SearchViews(self._names, gate.loaded, gate.plugins, gate.catalog, gate.state, gate.store)

    @cached_property
    def ranking(self) -> Engine:
        """What ranks functions."""
        from doorward_search.engine import Engine

        return Engine(self._gateway.catalog, self.index, self.graphs, self._learning, self.views)

    async def find(self, search: Asked) -> Found:
        return await self.ranking.find(search)

    def near(self, words: Sequence[str], servers: Sequence[str], most: int) -> Sequence[Function]:
        return self.ranking.near(words, servers, most)

    async def related(self, function: Function, principal: str) -> Related:
        from doorward_search.graph.producers import LIKELY
        from doorward_search.learning.learned_edges import with_learned

        server, known = function.server, await self._learning.known(principal)
        documented = self.graphs.needs(server, function.name)
        given = [
            Given(
                function.qualified,
                edge.parameter,
                edge.producer if "." in edge.producer else f"{server}.{edge.producer}",
                edge.field,
                edge.confidence,
            )
            for edge in with_learned(documented, server, function.name, known)
            if edge.confidence >= LIKELY
        ]
        return Related(given, known.often_with(function.qualified))

    async def graph(self, server: str, principal: str) -> list[Given]:
        known = await self._learning.known(principal)
        found = [
            Given(f"{server}.{edge.function}", edge.parameter, f"{server}.{edge.producer}", edge.field, edge.confidence)
            for edge in self.graphs.of(server)
        ]
        return found + [
            Given(function, each.parameter, each.producer, each.field, each.confidence, each.times)
            for function in known.consumers()
            if function.startswith(f"{server}.")
            for each in known.passed_to(function)
        ]

    async def prepare(self) -> None:
        await self.views.build()

    async def checks(self) -> AsyncIterator[tuple[str, bool, str]]:
        async for check in self.views.checks():
            yield check
