"""The functions of a server that give the identifiers which others need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from doorward import Function
from doorward.searching import split_words
from doorward.texts import Definitions, Reader
from doorward.values import effect

from doorward_search.graph.effort import Effort
from doorward_search.graph.identifiers import (
    Given,
    Needed,
    Results,
    Thing,
    asked_field,
    collections,
    needed,
    thing_of_route,
)

MAX_PRODUCERS = 8
"""Functions that are known for one argument."""

SAME_THING, SAME_ROUTE = 0.6, 0.5
"""How sure it is: the result says itself which thing its field identifies, or only the route does."""

ABOUT_IT, PER_WORD, PER_OBJECT, PER_NEED, PER_FIELD = 0.15, 0.05, 0.05, 0.1, 0.1
"""What it adds that the producer is about that thing (`GET /people` for a person). What it takes for each word more
that the thing has there (a saved album is an album), for each object around the field, for each identifier that the
producer needs and the function does not, and for each likelier way to identify the thing."""

LEAST, LIKELY = 0.4, 0.5
"""What is less sure is not known at all; what is less likely is not told beside a function."""

LEAST_CHARS = 3
"""A thing that nobody gives may be called by the first letters of its name, at least so many: `repo`, `org`."""

_FINDS = {"search": 0.12, "find": 0.12, "lookup": 0.08, "list": 0.05, "query": 0.05}
"""What it adds that a producer about that thing, or about everything, has such a word in its name: who knows only what
a thing is called begins there."""


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
    for function in functions:
        reader.refuel()
        wants[function.name] = needed(function, reader)
    choices = _Choices(_sources(functions, wants, reader))
    found: list[Edge] = []
    for function in functions:
        knows = frozenset([need.thing for need in wants[function.name]])
        for need in wants[function.name]:
            for source in choices.of(function.name, need, knows):
                found.append(Edge(function.name, need.parameter, source.producer, source.field, source.confidence))
    return found


class _Source(NamedTuple):
    """A function that gives an identifier. `asks` are the things that it must know itself."""

    producer: str
    given: Given
    asks: frozenset[Thing]
    confidence: float


def _source(function: Function, given: Given, about: Thing, asks: frozenset[Thing], more_words: int) -> _Source:
    sure = (SAME_THING if given.sure else SAME_ROUTE) - PER_WORD * more_words - PER_OBJECT * given.depth
    if about == given.thing or _FINDS.keys() >= {*about}:
        sure += max((_FINDS.get(word, 0) for word in split_words(function.name)), default=0)
    return _Source(function.name, given, asks, sure + ABOUT_IT * (about == given.thing))


def _sources(
    functions: Sequence[Function], wants: Mapping[str, Sequence[Needed]], reader: Reader
) -> dict[tuple[Thing, str], list[_Source]]:
    """The functions that give what anybody wants: each thing, by a field that identifies it."""
    results, within, effort = Results(reader), collections(functions), Effort()
    sources: dict[tuple[Thing, str], list[_Source]] = {
        (need.thing, field): [] for needs in wants.values() for need in needs for field in need.fields
    }
    shortened: dict[tuple[Thing, str], list[_Source]] = {key: [] for key in sources if len(key[0]) == 1}
    for function in functions:
        if not (effect(function) == "read" or function.route.startswith("GET ")):
            continue
        reader.refuel()
        about = thing_of_route(function, within)
        asks = frozenset(need.thing for need in wants[function.name])
        asked = asked_field(function, wants[function.name])
        for given in results.given(function, about):
            if not effort.spend():
                break
            if given.thing in asks or (not given.depth and asked == given.field == given.name.lower()):
                continue  # who knows one already, or its own id under another name, needs none
            for start in range(len(given.thing)):  # a saved album is an album
                key = given.thing[start:], given.field
                if key in sources and key[0] not in asks:
                    sources[key].append(_source(function, given, about, asks, start))
            last = given.thing[-1] if given.thing else ""
            for chars in range(LEAST_CHARS, len(last)):
                key = (last[:chars],), given.field
                if key in shortened and key[0] not in asks:
                    shortened[key].append(_source(function, given, about, asks, len(given.thing)))
    return {key: found or shortened.get(key, []) for key, found in sources.items()}


class _Choices:
    """The best sources for what functions need. Most need the same and know the same, so it is found out once."""

    def __init__(self, sources: Mapping[tuple[Thing, str], Sequence[_Source]]) -> None:
        self._sources, self._effort = sources, Effort()
        self._known: dict[object, list[Edge]] = {}
        self._asked = {key: frozenset[Thing]().union(*{each.asks for each in found}) for key, found in sources.items()}

    def of(self, function: str, need: Needed, knows: frozenset[Thing]) -> list[Edge]:
        """Who gives what a function needs that has all that it `knows`, in edges of no function yet."""
        asked = frozenset[Thing]().union(*[self._asked.get((need.thing, field), ()) for field in need.fields])
        knows &= asked  # no more of it matters
        key = need.thing, need.fields, need.is_text, knows
        if key not in self._known:
            self._known[key] = self._best(need, knows)
        return [edge for edge in self._known[key] if edge.producer != function][:MAX_PRODUCERS]

    def _best(self, need: Needed, knows: frozenset[Thing]) -> list[Edge]:
        found: dict[str, tuple[float, str]] = {}
        for place, field in enumerate(need.fields):
            sources = self._sources.get((need.thing, field), ())
            if not self._effort.spend(len(sources)):
                break
            for producer, given, asks, sure in sources:
                if None not in (need.is_text, given.is_text) and need.is_text != given.is_text:
                    continue
                confidence = min(1.0, round(sure - PER_NEED * len(asks - knows) - PER_FIELD * place, 2))
                if confidence >= LEAST and (producer not in found or confidence > found[producer][0]):
                    found[producer] = confidence, given.name
        best = sorted(found.items(), key=lambda each: (-each[1][0], len(each[0]), each[0]))
        # one of them may be the function that asks
        return [Edge("", "", producer, name, sure) for producer, (sure, name) in best[: MAX_PRODUCERS + 1]]
