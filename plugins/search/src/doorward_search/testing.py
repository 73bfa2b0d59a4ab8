"""For tests and measurements: a catalog that is searched without a gateway."""

from __future__ import annotations

from typing import Any

from doorward import Function
from doorward.engines import CatalogStore
from doorward.searching import Catalog

from doorward_search.derived import GRAPH, SEGMENT, graph_of, segment_of
from doorward_search.engine import Engine
from doorward_search.graph.graphs import Graphs
from doorward_search.joined_index import JoinedIndex


class SearchedCatalog(Catalog):
    """A catalog with the index of its functions, without what is learned, and without views."""

    def __init__(self, store: CatalogStore) -> None:
        super().__init__(store)
        self.derives.add(SEGMENT, segment_of)
        self.derives.add(GRAPH, graph_of)
        self.index, self.graphs = JoinedIndex(self), Graphs(self)
        nothing: Any = None
        self.engine = Engine(self, self.index, self.graphs, nothing, nothing)

    def search(self, query: str, **asked: Any) -> tuple[list[Function], int]:
        """See `Engine.among`."""
        return self.engine.among(query, **asked)
