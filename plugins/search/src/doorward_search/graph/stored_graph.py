"""A server's graph as it is stored: most functions need the same from the same producers, which are kept once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doorward_search.graph.producers import Edge


def as_stored(edges: Iterable[Edge]) -> dict[str, Any]:
    """`{"sources": [[[producer, field, confidence], …], …], "needs": {function: {parameter: place in sources}}}`."""
    given: dict[str, dict[str, list[tuple[str, str, float]]]] = {}
    for edge in edges:
        of_parameter = given.setdefault(edge.function, {}).setdefault(edge.parameter, [])
        of_parameter.append((edge.producer, edge.field, edge.confidence))
    places: dict[tuple[tuple[str, str, float], ...], int] = {}
    needs = {
        function: {parameter: places.setdefault(tuple(sources), len(places)) for parameter, sources in found.items()}
        for function, found in given.items()
    }
    return {"sources": [*places], "needs": needs}


def needs_of(stored: Mapping[str, Any], function: str) -> list[Edge]:
    """The edges of one function. Raises: LookupError, TypeError if this is no stored graph."""
    sources: Sequence[Any] = stored["sources"] if stored else ()
    return [
        Edge(function, parameter, *source)
        for parameter, place in (stored["needs"].get(function, {}) if stored else {}).items()
        for source in sources[place]
    ]
