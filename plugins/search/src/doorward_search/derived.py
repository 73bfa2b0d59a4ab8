"""What is derived of a server's functions when it is compiled, and stored with the compile: its part of the search
index, and who gives what its functions need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward import Function
from doorward.administration import as_json

if TYPE_CHECKING:
    from doorward.texts import Definitions

SEGMENT, GRAPH = "segment", "graph"


def segment_of(functions: Sequence[Function], definitions: Definitions, scrub: Callable[[str], str]) -> bytes:
    """See `doorward.searching.Catalog.derives`."""
    from doorward_search.result_words import ResultWords
    from doorward_search.segment import packed, segment  # numpy, which a start without a compile does not need

    return packed(segment(functions, ResultWords(definitions, scrub)))


def graph_of(functions: Sequence[Function], definitions: Definitions, scrub: Callable[[str], str] = str) -> bytes:
    """See `doorward.searching.Catalog.derives`."""
    from doorward_search.graph.producers import edges
    from doorward_search.graph.stored_graph import as_stored

    return scrub(as_json(as_stored(edges(functions, definitions)))).encode()
