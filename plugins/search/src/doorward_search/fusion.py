"""The ranking by words and the opinions of search views as one ranking: by places, for their scores mean nothing to one
another (reciprocal rank fusion).

What views say changes nothing about functions that are called what the question says: these stay first. What the words
rank first, and what plain BM25 does, stays among the first ten. A view says something only of what is much more like
the question than the usual function is; most are a little like any question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doorward_search.index import Index
from doorward_search.ranking import PLAIN_PLACES, Ranked, Ranking

MOST_WORDS, MOST_LIKE = 100, 20
"""Places that count of the ranking by words, and of what a view finds like the question."""

FLATNESS = 3
"""How little the first places count more than the next (the constant of reciprocal rank fusion). It is small, because
the first places by words are mostly right."""

VIEW_WEIGHT = 0.3
"""How much a place in a view counts, compared with one by words. What is nearest and shares no word comes eighth."""

LIKE_SHARE = 0.5
"""A function is like a question if it is at least so far from the usual likeness towards the best one."""

Array = NDArray[Any]


class Opinion(NamedTuple):
    """What a view says of a question: for each function of the index how like it it is; NaN if it does not know."""

    view: str
    likeness: Array


class Fused(NamedTuple):
    """A ranking, and the functions that each view found like the question, nearest first."""

    ranked: Ranked
    like: dict[str, list[int]]


def alike(index: Index, opinion: Opinion, among: Array | None) -> list[int]:
    """The functions that a view finds like a question, nearest first, of those in `among`."""
    likeness = opinion.likeness
    known = ~np.isnan(likeness)
    if not known.any():
        return []
    usual = float(likeness[known].mean())
    found = np.flatnonzero(known if among is None else known & among)
    best = float(likeness[found].max(initial=-1))
    if best <= usual or best <= 0:
        return []
    found = found[likeness[found] >= usual + LIKE_SHARE * (best - usual)]
    return found[np.lexsort((index.tie[found], -np.round(likeness[found], 5)))][:MOST_LIKE].tolist()  # type: ignore[no-any-return]


def fused(ranking: Ranking, most: int, opinions: Sequence[Opinion]) -> Fused:
    """The first of those that fit a question by its words, or that views find like it."""
    index, question = ranking.index, ranking.question
    like = {opinion.view: found for opinion in opinions if (found := alike(index, opinion, ranking.among))}
    if not like:
        return Fused(ranking.best(most), {})
    words = ranking.best(max(most, MOST_WORDS))
    first = words.functions[:MOST_WORDS]
    scores: dict[int, float] = {}
    for weight, places in [(1.0, first), *((VIEW_WEIGHT, found) for found in like.values())]:
        for place, function in enumerate(places):
            scores[function] = scores.get(function, 0) + weight / (FLATNESS + place)
    itself = {n for n in first if question.same and (index.same[n] == question.same).any()}
    ordered = sorted(scores, key=lambda n: (n not in itself, -round(scores[n], 9), index.tie[n]))
    ordered += [function for function in words.functions[MOST_WORDS:] if function not in scores]
    fits, well = words.fits.copy(), words.well.copy()
    liked = [function for found in like.values() for function in found]
    fits[liked] = well[liked] = True
    kept = dict.fromkeys([*first[:1], *ranking.plain_first])
    return Fused(Ranked(_with([*kept], ordered)[:most], fits, well, words.worth), like)


def _with(kept: Sequence[int], ordered: list[int]) -> list[int]:
    """The functions in this order, but these among the first ten: the last ones there make room."""
    first = ordered[:PLAIN_PLACES]
    missing = [function for function in kept if function not in first]
    given_up = [function for function in reversed(first) if function not in kept][: len(missing)]
    before = [function for function in first if function not in given_up]
    return [*before, *missing, *(function for function in ordered if function not in {*before, *missing})]
