"""The functions of a server that give the identifiers which others need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from doorward.data.words import split_words
from doorward.describe.schemas import Definitions, Reader
from doorward.graph.identifiers import Given, Needed, given, needed, thing_of_route
from doorward.model.functions import Function

MAX_PRODUCERS = 3
"""Functions that are named for one argument."""

SAME_THING, SAME_ROUTE = 0.6, 0.5
"""How sure it is: the result says itself which thing its field identifies, or only the route does."""

ABOUT_IT, PER_OBJECT, PER_NEED, PER_FIELD = 0.15, 0.08, 0.1, 0.1
"""What it adds that the producer is about that thing (`GET /people` for a person); what it takes for each object around
the field, for each identifier that the producer needs itself, and for each likelier way to identify the thing."""

LEAST = 0.3
"""What is less sure is not told."""

_FINDS = {"search": 0.06, "find": 0.06, "list": 0.04, "query": 0.04, "lookup": 0.05}


class Edge(NamedTuple):
    """`producer` gives what `parameter` of `function` needs, under the name `field`. `confidence` is up to 1."""

    function: str
    parameter: str
    producer: str
    field: str
    confidence: float


def edges(functions: Sequence[Function], definitions: Definitions) -> list[Edge]:
    """Who gives what others need, the surest first for each argument. Functions that only read come into question."""
    reader = Reader(definitions)
    wants: dict[str, list[Needed]] = {}
    gives: dict[tuple[tuple[str, ...], str], dict[str, Given]] = {}
    for function in functions:
        reader.refuel()
        wants[function.name] = needed(function, reader)
        if function.read_only or function.route.startswith("GET "):
            reader.refuel()
            for each in given(function, reader):
                known = gives.setdefault((each.thing, each.field), {}).get(function.name)
                if known is None or (each.sure, -each.depth) > (known.sure, -known.depth):
                    gives[each.thing, each.field][function.name] = each
    by_name = {function.name: function for function in functions}
    return [
        edge
        for name, needs in wants.items()
        for need in needs
        for edge in _for(by_name[name], need, gives, wants, by_name.__getitem__)
    ]


def by_function(found: Sequence[Edge]) -> dict[str, list[Edge]]:
    """Edges by the names of the functions that need something."""
    known: dict[str, list[Edge]] = {}
    for edge in found:
        known.setdefault(edge.function, []).append(edge)
    return known


def _for(
    function: Function,
    need: Needed,
    gives: dict[tuple[tuple[str, ...], str], dict[str, Given]],
    wants: dict[str, list[Needed]],
    by_name: Callable[[str], Function],
) -> list[Edge]:
    found: dict[str, Edge] = {}
    for place, field in enumerate(need.fields):
        for producer, each in gives.get((need.thing, field), {}).items():
            asks = {other.thing for other in wants[producer]}
            if producer == function.name or need.thing in asks:  # who knows one already needs none
                continue
            if None not in (need.is_text, each.is_text) and need.is_text != each.is_text:
                continue
            sure = SAME_THING if each.sure else SAME_ROUTE
            sure += max((_FINDS.get(word, 0) for word in split_words(by_name(producer).name)), default=0)
            sure += ABOUT_IT * (thing_of_route(by_name(producer)) == need.thing)
            sure -= PER_OBJECT * each.depth + PER_NEED * len(asks) + PER_FIELD * place
            edge = Edge(function.name, need.parameter, producer, each.name, min(1.0, round(sure, 2)))
            if (
                edge.confidence >= LEAST
                and edge.confidence > found.get(producer, edge._replace(confidence=0)).confidence
            ):
                found[producer] = edge
    return sorted(found.values(), key=lambda edge: (-edge.confidence, len(edge.producer), edge.producer))[
        :MAX_PRODUCERS
    ]
