"""Steps that a question does not name: whoever gives what the best functions need comes close behind them.

"Films that Agnès Varda directed" has no word of `GET /search/person`, but without it nobody has the `person_id` of
`GET /person/{person_id}/movie_credits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from doorward_search.graph.producers import LIKELY, Edge
from doorward_search.index import Index

LEADING = 10
"""The first so many functions bring along who gives what they need."""

RAISED = 0.8
"""How much of a function's worth its producer has at least."""

TOLD = 2
"""Producers that are told of one argument: the one that fits the question best, and the surest."""

Array = NDArray[Any]


class Producer(NamedTuple):
    """A function by its number in the index, and how sure it is that it gives what is needed."""

    number: int
    confidence: float


class Steps:
    """Who gives what the functions of an index need. `needs` reads the edges of a function from the graph."""

    def __init__(self, index: Index, needs: Callable[[str, str], Iterable[Edge]]) -> None:
        self._index, self._needs = index, needs

    def before(self, function: int, among: Array | None) -> Mapping[str, Sequence[Producer]]:
        """The likely producers of each argument that a function needs, of those that are searched, the surest first."""
        server, name = self._index.qualified(function)
        found: dict[str, list[Producer]] = {}
        for edge in self._needs(server, name):
            of, dot, producer = edge.producer.rpartition(".")  # that of another server has its name before it
            number = self._index.number(of if dot else server, producer)
            if edge.confidence >= LIKELY and number is not None and (among is None or among[number]):
                found.setdefault(edge.parameter, []).append(Producer(number, edge.confidence))
        return found

    def raise_producers(self, leading: Iterable[int], worth: Array, hit: Array, among: Array | None) -> None:
        """Raise whoever gives what the leading functions need. Where several give it, the one that fits best."""
        raised: dict[int, float] = {}
        for function in leading:
            for producers in self.before(function, among).values():
                best = max(producers, key=lambda each: each.confidence + worth[each.number])
                raised[best.number] = max(RAISED * float(worth[function]), raised.get(best.number, 0))
        for number, share in raised.items():
            worth[number] = max(share, worth[number]) if hit[number] else share
            hit[number] = True

    def told(self, function: int, worth: Array, among: Array | None) -> dict[str, list[str]]:
        """The names of the producers of each argument that an answer tells."""
        told = {}
        for parameter, producers in self.before(function, among).items():
            best = max(producers, key=lambda each: worth[each.number])
            chosen = dict.fromkeys([best if worth[best.number] > 0 else producers[0], *producers])
            told[parameter] = [self._name(each.number, function) for each in chosen][:TOLD]
        return told

    def _name(self, producer: int, function: int) -> str:
        """The name of a producer as it is told beside a function."""
        server, name = self._index.qualified(producer)
        return name if server == self._index.qualified(function)[0] else f"{server}.{name}"
