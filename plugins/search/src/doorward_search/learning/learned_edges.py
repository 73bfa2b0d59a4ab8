"""The edges of the graph together with what was learned from use."""

from __future__ import annotations

from collections.abc import Iterable

from doorward_search.graph.producers import Edge
from doorward_search.learning.known import Known


def with_learned(documented: Iterable[Edge], server: str, name: str, known: Known) -> list[Edge]:
    """The edges of a function as `Catalog.needs` has them, and those that were learned, the surest first for each
    argument. What use confirms is as sure as the surer of both. The producer of another server is `server.name`."""
    own = f"{server}."
    learned = [
        Edge(name, each.parameter, each.producer.removeprefix(own), each.field, each.confidence)
        for each in known.passed_to(own + name)
    ]
    best: dict[str, dict[str, Edge]] = {}
    for edge in [*documented, *learned]:
        theirs = best.setdefault(edge.parameter, {})
        if edge.producer not in theirs or edge.confidence > theirs[edge.producer].confidence:
            theirs[edge.producer] = edge
    return [edge for theirs in best.values() for edge in sorted(theirs.values(), key=lambda edge: -edge.confidence)]
