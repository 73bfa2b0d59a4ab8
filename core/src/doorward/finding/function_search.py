"""Searching functions for a principal: one question or several, among those that it may use and that policy allows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio.lowlevel
import numpy as np

from doorward.catalog.near_functions import MAX_COMPARED_NAMES
from doorward.data.near_names import nearest
from doorward.data.words import split_words
from doorward.finding.allowed_functions import AllowedFunctions, both
from doorward.learning.learned_edges import with_learned
from doorward.model.errors import InvalidArguments
from doorward.model.functions import Function
from doorward.search.explanation import MAX_REASONS, why
from doorward.search.fusion import Fused, fused
from doorward.search.question import Question, read, untagged
from doorward.search.ranking import Ranked, Ranking
from doorward.search.steps import Steps

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.graph.producers import Edge
    from doorward.learning.learning import Learning
    from doorward.search.index import Index
    from doorward.servers.registry import Servers
    from doorward.views.search_views import SearchViews

MAX_QUERIES = 10
"""Questions in one search."""

MAX_NEAR = 3
"""Functions that are named where nothing was found."""


class Hit(NamedTuple):
    """A function that was found. `answers` are the questions that found it, by their numbers from 1. `needs` has for
    arguments the functions that give them. `matched` says why it was found, if that was asked."""

    function: Function
    answers: list[int]
    needs: dict[str, list[str]]
    matched: list[str]


class Found(NamedTuple):
    """Hits, best first; how many functions fit in all, and how many of them well; and, if none fits, the names of some
    that nearly do."""

    hits: list[Hit]
    total: int
    well: int
    near: list[str]


class FunctionSearch:
    """The search of a gateway. Whoever searches first after a compile waits until a thread has joined the index."""

    def __init__(
        self, catalog: Catalog, servers: Servers, policy: Policy, learning: Learning, views: SearchViews
    ) -> None:
        self._catalog, self._servers, self._learning, self._views = catalog, servers, learning, views
        self.allowed = AllowedFunctions(catalog, policy)

    async def find(
        self,
        queries: Sequence[str],
        *,
        principal: str,
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        offset: int = 0,
        explain: bool = False,
        within: tuple[str, ...] | None = None,
    ) -> Found:
        """What fits any of the queries: by the best place that it has for one of them, each function once. `server` is
        the module of the only one to look at, `within` are the patterns by which a run is narrowed.

        Raises: InvalidArguments for too many queries.
        """
        if len(queries) > MAX_QUERIES:
            raise InvalidArguments(f"{len(queries)} queries; at most {MAX_QUERIES} in one search")
        index = await self._catalog.index.wait()
        allowed = await self.allowed.mask(index, principal, within)
        reach = both(allowed, index.only(self._servers.names(principal), None, ()))
        usable = self._servers.names(principal) if server is None else [server]
        questions, steps = [read(query) for query in queries], Steps(index, partial(self._needs, principal))
        rankings = []
        for each in questions:
            among = both(allowed, index.only(usable, read_only, each.tags))
            rankings.append(Ranking(index, each, among, steps, self._learning.bonus(index, each, principal)))
            await anyio.lowlevel.checkpoint()  # ten long questions take a while, and others wait
        fusions = await self._fused(index, queries, rankings, offset + limit)
        found = [each.ranked for each in fusions]
        chosen = merged(found)[offset : offset + limit]
        reasons = await _reasons(rankings, fusions, chosen) if explain else {}
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

    def _needs(self, principal: str, server: str, name: str) -> list[Edge]:
        known = self._learning.known(principal)
        return with_learned(self._catalog.needs(server, name), server, name, known)

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
