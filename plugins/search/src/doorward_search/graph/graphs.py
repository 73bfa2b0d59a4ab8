"""The stored graphs of a catalog: who gives what the functions of its servers need."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from pydantic_core import from_json

from doorward_search.derived import GRAPH, graph_of
from doorward_search.graph.stored_graph import needs_of

if TYPE_CHECKING:
    from doorward.searching import Catalog

    from doorward_search.graph.producers import Edge

MAX_FUNCTIONS = 300
"""The graph of a server of more functions is made anew only by its next compile: everybody waits for this one."""


class Graphs:
    """Reads the graphs, and makes them anew where observed results have changed, or where none is stored."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._of = lru_cache(256)(self._read)
        catalog.caches.append(self._of)

    def needs(self, server: str, name: str) -> list[Edge]:
        """Who gives the identifiers that a function needs, the surest first for each argument."""
        try:
            return needs_of(self._of(server), name)
        except (TypeError, LookupError):  # somebody else has written there
            return []

    def of(self, server: str) -> list[Edge]:
        """Who gives what the functions of a server need."""
        return [edge for name in self._of(server).get("needs", ()) for edge in self.needs(server, name)]

    def _read(self, server: str) -> Mapping[str, Any]:
        stored = self._catalog.derived(GRAPH, server).get(server) or self._made(server)
        try:
            found = from_json(stored) if stored else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _made(self, server: str) -> bytes:
        """The graph of a server that is not too large."""
        report = self._catalog.report(server)
        if report is None or report.functions > MAX_FUNCTIONS:
            return b""
        functions = self._catalog.notes.with_results(self._catalog.functions(server))
        return graph_of(functions, partial(self._catalog.definition, server))

    async def renew(self, server: str) -> None:
        """Store the graph of a server whose observed results have changed. Raises: StateError."""
        if made := self._made(server):
            await anyio.to_thread.run_sync(self._catalog.replace_derived, server, GRAPH, made)
            self._of.cache_clear()
