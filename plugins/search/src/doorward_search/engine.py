"""Finds functions for a principal: one question or several, among those that it may use and that policy allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio.lowlevel
import numpy as np
from doorward import Function
from doorward.searching import Found, Hit, split_words
from doorward.texts import nearest

from doorward_search.explanation import MAX_REASONS, why
from doorward_search.fusion import Fused, fused
from doorward_search.learning.learned_edges import with_learned
from doorward_search.question import Question, read, untagged
from doorward_search.ranking import Ranked, Ranking
from doorward_search.steps import Steps

if TYPE_CHECKING:
    from doorward.searching import Allowed, Catalog, Search

    from doorward_search.graph.graphs import Graphs
    from doorward_search.graph.producers import Edge
    from doorward_search.index import Index
    from doorward_search.joined_index import JoinedIndex
    from doorward_search.learning.known import Known
    from doorward_search.learning.learning import Learning
    from doorward_search.views.search_views import SearchViews

MAX_NEAR = 3
"""Functions that are named where nothing was found."""

MAX_COMPARED_NAMES = 3000
"""Names that are compared with the words of a question, letter by letter."""

MAX_MASKS = 100
"""Masks that are kept: one byte for each function."""


class Engine:
    """The search over the index of a catalog. Whoever searches first after a compile waits until a thread has joined
    it."""

    def __init__(
        self, catalog: Catalog, index: JoinedIndex, graphs: Graphs, learning: Learning, views: SearchViews
    ) -> None:
        self._catalog, self._index, self._graphs = catalog, index, graphs
        self._learning, self._views = learning, views
        self._masks: OrderedDict[tuple[object, ...], Any] = OrderedDict()

    async def find(self, search: Search) -> Found:
        """See `doorward.searching.SearchEngine`."""
        queries, principal = search.queries, search.principal
        index = await self._index.wait()
        allowed = self._mask(index, search.allowed)
        reach = _both(allowed, index.only(search.usable, None, ()))
        known = await self._learning.known(principal)
        questions, steps = [read(query) for query in queries], Steps(index, partial(self._needs, known))
        rankings = []
        for each in questions:
            among = _both(allowed, index.only(search.servers, search.read_only, each.tags))
            rankings.append(Ranking(index, each, among, steps, self._learning.bonus(index, each, principal, known)))
            await anyio.lowlevel.checkpoint()  # ten long questions take a while, and others wait
        offset, end = search.offset, search.offset + search.limit
        fusions = await self._fused(index, queries, rankings, end)
        found = [each.ranked for each in fusions]
        chosen = merged(found)[offset:end]
        reasons = await _reasons(rankings, fusions, chosen) if search.explain else {}
        hits = [
            Hit(function, numbers, steps.told(place, found[numbers[0] - 1].worth, reach), reasons.get(place, []))
            for place, numbers in chosen
            if (function := self._catalog.function(*index.qualified(place)))
        ]
        for number, question in enumerate(questions, 1):
            names = [hit.function.qualified for hit in hits if number in hit.answers]
            self._learning.searched(index, question, principal, names, offset)
        total, well = (_many([getattr(each, which) for each in found]) for which in ("fits", "well"))
        near = [] if total else await self._near(index, reach, queries, questions)
        return Found(hits, total, well, near)

    def near(self, words: Sequence[str], servers: Sequence[str], most: int) -> list[Function]:
        """See `doorward.searching.SearchEngine`."""
        return self.among(" ".join(words), servers, limit=most)[0]

    def among(
        self, query: str, servers: Sequence[str], *, read_only: bool | None = None, limit: int = 10, offset: int = 0
    ) -> tuple[list[Function], int]:
        """The functions of some servers that match the words, best first, and how many match in all: what the words
        say, without what was learned and what views say. `tag:NAME` in the query keeps only those with that tag."""
        index, question = self._index(), read(query)
        among = index.only(servers, read_only, question.tags)
        found = Ranking(index, question, among, Steps(index, self._graphs.needs)).best(offset + limit)
        names = [index.qualified(number) for number in found.functions[offset : offset + limit]]
        return [function for name in names if (function := self._catalog.function(*name))], found.total

    def _mask(self, index: Index, allowed: Mapping[str, Allowed] | None) -> Any:
        """A truth value for each function of the index, whether it may be called; `None` if all may."""
        if allowed is None:
            return None
        key = (index, *(allowed.get(server) for server in index.servers))
        if key not in self._masks:
            mask = np.zeros(index.size, bool)
            for number, server in enumerate(index.servers):
                may = {*allowed[server].called()} if server in allowed else ()
                names = index.names[index.first[number] : index.first[number + 1]]
                mask[index.first[number] : index.first[number + 1]] = [name in may for name in names]
            self._masks[key] = mask
        self._masks.move_to_end(key)
        while len(self._masks) > MAX_MASKS or next(iter(self._masks))[0] is not index:
            self._masks.popitem(last=False)  # those of an index that was forgotten are the oldest
        return self._masks[key]

    def _needs(self, known: Known, server: str, name: str) -> list[Edge]:
        return with_learned(self._graphs.needs(server, name), server, name, known)

    async def _fused(self, index: Index, queries: Sequence[str], rankings: Sequence[Ranking], most: int) -> list[Fused]:
        """What fits each question, by its words and by what search views say, if there are any."""
        asked = [number for number, each in enumerate(rankings) if each.question.concepts]
        said = await self._views.opinions([untagged(queries[number]) for number in asked], index)
        opinions = dict(zip(asked, said, strict=True))
        found = []
        for number, each in enumerate(rankings):
            if number:
                await anyio.lowlevel.checkpoint()
            found.append(fused(each, most, opinions.get(number, [])))
        return found

    async def _near(self, index: Index, among: Any, queries: Sequence[str], questions: Sequence[Question]) -> list[str]:
        """What fits the words, but is of another server, has not these tags or is not read only; else what is called
        alike, unless there are too many names to compare. `among` are all that the caller may call."""
        wider = []
        for each in questions:
            if each.concepts:
                wider.append(Ranking(index, each, among).best(MAX_NEAR))
                await anyio.lowlevel.checkpoint()
        if names := [".".join(index.qualified(place)) for place, _ in merged(wider)[:MAX_NEAR]]:
            return names
        numbers = range(index.size) if among is None else np.flatnonzero(among).tolist()
        if len(numbers) > MAX_COMPARED_NAMES:
            return []
        names = [".".join(index.qualified(number)) for number in numbers]
        asked = [" ".join(split_words(query)).replace(" ", "_") for query in queries]
        like = [name for words in asked if words for name in nearest(words, names, MAX_NEAR, {})]
        return [*dict.fromkeys(like)][:MAX_NEAR]


def _both(one: Any, other: Any) -> Any:
    """What two masks leave; `None` leaves everything."""
    return other if one is None else one if other is None else one & other


def _many(masks: Sequence[Any]) -> int:
    """How many functions are in any of these."""
    return int(np.logical_or.reduce(masks).sum())


async def _reasons(
    rankings: Sequence[Ranking], fusions: Sequence[Fused], chosen: Sequence[tuple[int, list[int]]]
) -> dict[int, list[str]]:
    """Why each function was found: the words that it has, and the views that find it like a question."""
    reasons: dict[int, list[str]] = {}
    for place, numbers in chosen:
        told: dict[str, None] = {}
        for number in numbers:
            if len(told) < MAX_REASONS:
                told |= dict.fromkeys(why(rankings[number - 1], place))
        like = [view for number in numbers for view, found in fusions[number - 1].like.items() if place in found]
        reasons[place] = [*dict.fromkeys([*islice(told, MAX_REASONS), *(f"like: {view}" for view in like)])]
        await anyio.lowlevel.checkpoint()
    return reasons


def merged(found: Sequence[Ranked]) -> list[tuple[int, list[int]]]:
    """The functions of several rankings, those with the best places first; with the numbers of the rankings, from 1,
    that have each."""
    best: dict[int, int] = {}
    numbers: dict[int, list[int]] = {}
    for number, each in enumerate(found, 1):
        for place, function in enumerate(each.functions):
            best[function] = min(place, best.get(function, place))
            numbers.setdefault(function, []).append(number)
    return [(function, numbers[function]) for function in sorted(best, key=lambda f: (best[f], numbers[f][0]))]
