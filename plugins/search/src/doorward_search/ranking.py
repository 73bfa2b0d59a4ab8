"""Ranking the functions that share words with a question by how well they fit it. Each part has its reason:

* BM25F over all fields: rare words count more, and words in names more than in descriptions.
* Words of the same meaning count for a word, if they stand in a name, a summary, a path or a tag; less than itself.
* Plain BM25 over the words as they are written.
* How much of a function's own name and summary the question explains. `list_users` fits "users" better than
  `list_users_of_teams_of_organizations` does.
* Whether the function does what the verbs ask for, or searches, if the question calls something by a name.
* Whether it gives what one of the best functions needs.
* What earlier use says: see `doorward.learning`.

A short question needs what we know of meanings. The longer one is, the less these count, and the more does plain BM25:
a story has words that mean anything. What plain BM25 finds first is always among the first ten, and it comes first if
it has more of the words. The weights were found by trying, on questions that `benchmarks/README.md` names.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from doorward.searching import Phrase
from numpy.typing import NDArray

from doorward_search.document import KINDS
from doorward_search.index import FREE_WORDS, IN_BRIEF, IN_NAME, IN_SUMMARY, IN_TEXTS, Index, Postings
from doorward_search.near_words import understood
from doorward_search.question import Concept, Question
from doorward_search.segment import WRITTEN
from doorward_search.steps import LEADING, Steps

MEANING_WEIGHT = 0.8
"""How much a word of the same meaning counts, times what `concepts.txt` says of it."""

PART_WEIGHT = 0.5
"""How much one word of a phrase counts alone."""

VERB_WEIGHT = 0.5
"""How much a verb such as `list` weighs, compared with equally rare words."""

SHORT, PLAIN_WEIGHT = 4, 0.6
"""The concepts of a short question: of more, words of the same meaning count the less, and plain BM25 up to this."""

NAME_BONUS, SUMMARY_BONUS = 0.4, 0.2
"""What it adds to words that fit best (1) if the question explains all of a function's name, of its summary."""

KIND_BONUS, NAMED_BONUS = 0.3, 0.25
"""What it adds if a function does what is wanted most; and if it searches, where the question has a proper name or
quotes one: who has only a name must search first."""

ONLY_WORD_BONUS = 5.0
"""What it adds to have in brief the only word of a question: who has it comes before all who have only its meaning."""

SERVER_BONUS, OTHERS_SHARE = 0.2, 0.02
"""What it adds to be of a server that the question names; and when the name of a server is no mere word: the functions
of others that have it in brief are at most so many for each of its own."""

SAME_BONUS = 100.0
"""What it adds if the question is a function's name, id, route or summary: more than everything else."""

DEPRECATED_PENALTY, DELETES_PENALTY = 0.2, 0.25
"""What it takes to be deprecated, and to delete what nobody wants to have deleted."""

PLAIN_FIRST, PLAIN_PLACES = 3, 10
"""So many of the best by plain BM25 are among the first so many."""

WELL, WELL_OF_BEST = 0.1, 0.5
"""A function fits well if it has at least this share of what the words of a question say, less if it is long, and this
share of what the best one has."""

Array = NDArray[Any]


class Ranked(NamedTuple):
    """The first functions that fit, best first; which fit in all, and which of them well, as truth values for each
    function; and how well each one of the index fits."""

    functions: list[int]
    fits: Array
    well: Array
    worth: Array

    @property
    def total(self) -> int:
        """How many functions fit."""
        return int(self.fits.sum())


class Ranking:
    """The functions that fit a question, of those in `among` if that is given: a truth value for each function. `steps`
    knows who gives what they need. `learned` is what earlier use adds to the score of each: it raises functions that
    fit, and finds no others."""

    def __init__(
        self,
        index: Index,
        question: Question,
        among: Array | None = None,
        steps: Steps | None = None,
        learned: Array | None = None,
    ) -> None:
        self.index, self.question, self.among = index, question, among
        self._steps, self._learned = steps, learned
        self.concepts = understood(index, question.concepts, among)
        self._of = self._searched()
        self._hit = np.zeros(index.size, bool)
        self._well = np.zeros(index.size, bool)
        self._besides = np.zeros(index.size, np.float32)
        self._short = min(1.0, SHORT / max(1, len(self.concepts)))

    def best(self, most: int) -> Ranked:
        """The first of the ranking; of all functions in their order, if the question has no words."""
        if not self.question.concepts:
            return listed(self.index, self.among)
        scores = self._scores()
        if not self._hit.any():
            self._hit = self._doing()
            self._well = self._hit.copy()
        scores = np.round(scores, 5)
        if self._steps:
            self._steps.raise_producers(self._first(scores, LEADING), scores, self._hit, self.among)
        ordered = self._first(scores, max(most, PLAIN_PLACES))
        return Ranked(self._with_more(self._with_plain(ordered))[:most], self._hit, self._well, scores)

    def _first(self, scores: Array, most: int) -> list[int]:
        """The best, ordered."""
        found = np.flatnonzero(self._hit)
        worth = scores[found]
        if most < found.size:  # these, and those that are as good as the last of them
            chosen = worth >= np.partition(worth, found.size - most)[found.size - most]
            found, worth = found[chosen], worth[chosen]
        ordered: list[int] = found[np.lexsort((self.index.tie[found], -worth))][:most].tolist()
        return ordered

    def _searched(self) -> int:
        """How many functions are searched: those of servers that have any word of the question."""
        index = self.index
        asked = np.zeros(len(index.servers), bool)
        for concept in self.concepts:
            for word in concept.phrase:
                asked[index.server_of[index.postings(word).functions]] = True
        searched = asked[index.server_of]
        return int((searched & self.among).sum() if self.among is not None else searched.sum())

    def _rarity(self, functions: int) -> float:
        """How much a word of so many functions says (the inverse document frequency of BM25)."""
        of = max(self._of, functions)
        return math.log(1 + (of - functions + 0.5) / (functions + 0.5))

    def _only(self, found: Postings) -> Postings:
        """Those of the functions that are searched."""
        if self.among is None or not found.functions.size:
            return found
        kept = self.among[found.functions]
        return Postings(*(column[kept] for column in found))

    def _scores(self) -> Array:
        index = self.index
        scores, said = np.zeros(index.size, np.float32), 0.0
        for concept in self.concepts:
            fit, rarity = self._fit(concept)
            weight = rarity * (VERB_WEIGHT if concept.plain else 1)
            scores += fit * weight
            said += weight
        if (most := float(scores.max(initial=0))) > 0:
            scores /= most
        if most >= WELL * self._short * said:
            self._well = scores >= WELL_OF_BEST
        if self._short < 1 and (most := float(self._plain.max(initial=0))) > 0:
            scores += PLAIN_WEIGHT * (1 - self._short) / most * self._plain
        explained_name, explained_summary = self._explained()
        scores += NAME_BONUS * explained_name + SUMMARY_BONUS * explained_summary
        telling = [concept for concept in self.concepts if not concept.plain]
        if len(telling) == 1:
            own = self._only(index.having(telling[0].phrase))
            scores[own.functions[own.places & IN_BRIEF > 0]] += ONLY_WORD_BONUS
        self._besides = self._wanted()
        self._besides[index.deprecated] -= DEPRECATED_PENALTY
        for concept in self.concepts:
            self._besides += SERVER_BONUS * self._of_named(concept.phrase)
        if self._learned is not None:
            self._besides += self._learned
        if self.question.same:
            same = (index.same == self.question.same).any(axis=1)
            same = same if self.among is None else same & self.among
            self._hit |= same
            self._well |= same
            self._besides += SAME_BONUS * same
        return scores + self._besides

    def _fit(self, concept: Concept) -> tuple[Array, float]:
        """How well each function has a concept, up to 1, and how much the concept says."""
        fit = np.zeros(self.index.size, np.float32)
        own, commonest = self._only(self.index.having(concept.phrase)), 0
        if len(concept.phrase) > 1:
            for word in concept.phrase:
                alone = self._only(self.index.postings(word))
                _raise(fit, alone.functions, PART_WEIGHT * alone.full)
        _raise(fit, own.functions, own.full)
        for phrase, weight in concept.phrases.items():
            if phrase != concept.phrase and (meant := self._only(self.index.having(phrase))).functions.size:
                _raise(fit, meant.functions, MEANING_WEIGHT * self._short * weight * meant.brief)
                commonest = max(commonest, meant.functions.size)
        self._hit |= fit > 0
        in_texts = int((own.places & IN_TEXTS > 0).sum())  # an answer that has a field makes its name no common word
        return fit, self._rarity(in_texts or own.functions.size or commonest)

    def _of_named(self, phrase: Phrase) -> Array | float:
        """Which functions are of the servers that a word names, if it is a name."""
        index = self.index
        servers = index.called.get(phrase[0], []) if len(phrase) == 1 else []
        if not servers:
            return 0
        theirs = np.isin(index.server_of, servers)
        found = index.postings(phrase[0])
        others = (found.places & IN_BRIEF > 0) & ~theirs[found.functions]
        return theirs if others.sum() <= OTHERS_SHARE * theirs.sum() else 0

    def _doing(self) -> Array:
        """Where no function has a word of the question: those that do what its verbs want, if it has no more; those
        that search, if it calls something by a name."""
        if all(concept.plain for concept in self.concepts):
            kinds: Collection[str] = self.question.kinds
        else:
            kinds = ["search"] if self.question.names else []
        wanted = sum(1 << KINDS.index(kind) for kind in kinds)
        does: Array = self.index.kinds & wanted > 0
        if not set(kinds).isdisjoint(("list", "get")):
            does |= self.index.read_only
        return does if self.among is None else does & self.among

    def _explained(self) -> tuple[Array, Array]:
        """The shares of each function's name and summary that the question explains, also by words of its meaning; none
        if these are only what it wants to be done: who is called `search` may search anything."""
        index = self.index
        said: dict[str, float] = {}
        telling: set[str] = set()
        for concept in self.concepts:
            for phrase, weight in concept.phrases.items():
                said |= {word: max(weight**0.5, said.get(word, 0)) for word in phrase if word not in FREE_WORDS}
                telling.update(() if concept.plain else phrase)
        name, summary = np.zeros(index.size, np.float32), np.zeros(index.size, np.float32)
        for word in sorted(said, key=lambda word: word not in telling):
            found = index.postings(word)
            for share, place in ((name, IN_NAME), (summary, IN_SUMMARY)):
                having = found.functions[found.places & place > 0]
                share[having if word in telling else having[share[having] > 0]] += said[word]
        return name / index.name_words, summary / index.summary_words

    def _wanted(self) -> Array:
        """What it adds or takes that functions do what they do."""
        kinds, wanted = self.index.kinds, self.question.kinds
        bonus = np.zeros(self.index.size, np.float32)
        for kind, share in wanted.items():
            does = kinds & (1 << KINDS.index(kind)) > 0
            bonus[does] = np.maximum(bonus[does], share)
        bonus *= KIND_BONUS
        if self.question.names:
            bonus += NAMED_BONUS * (kinds & (1 << KINDS.index("search")) > 0)
        if "delete" not in wanted:
            bonus -= DELETES_PENALTY * (kinds & (1 << KINDS.index("delete")) > 0)
        return bonus

    def _with_plain(self, ordered: list[int]) -> list[int]:
        """The same with what plain BM25 finds first among the first ten: in their last places, if it was not there."""
        first, rest = ordered[:PLAIN_PLACES], ordered[PLAIN_PLACES:]
        missing = [function for function in self.plain_first if function not in first]
        if not missing:
            return ordered
        kept = first[: PLAIN_PLACES - len(missing)]
        later = [function for function in [*first[len(kept) :], *rest] if function not in missing]
        return [*kept, *missing, *later]

    def _with_more(self, ordered: list[int]) -> list[int]:
        """The same with the best by plain BM25 first, if it has itself every word of the question that the first one
        has or means, and more of them, and what is besides its words speaks no less for it."""
        for best, first in zip(self.plain_first[:1], ordered[:1], strict=False):
            telling = [concept for concept in self.concepts if not concept.plain]
            having = self.index.having
            own = {each.phrase for each in telling if (having(each.phrase).place(best) or 0) & IN_TEXTS}
            meant = {each.phrase for each in telling if any(having(p).place(first) is not None for p in each.phrases)}
            if meant < own and self._besides[best] >= self._besides[first]:
                return [best, *(function for function in ordered if function != best)]
        return ordered

    @cached_property
    def plain_first(self) -> Sequence[int]:
        """The best by plain BM25."""
        scores = self._plain
        having = np.flatnonzero(scores)
        if having.size > PLAIN_FIRST:  # to sort all of them takes as long as everything else
            having = having[scores[having] >= np.partition(scores[having], -PLAIN_FIRST)[-PLAIN_FIRST]]
        best: list[int] = having[np.argsort(-scores[having], kind="stable")][:PLAIN_FIRST].tolist()
        return [function for function in best if self._hit[function]]

    @cached_property
    def _plain(self) -> Array:
        """How well functions fit by plain BM25 over the words as they are written."""
        scores = np.zeros(self.index.size, np.float32)
        for word in self.question.written:
            found = self._only(self.index.postings(WRITTEN + word))
            scores[found.functions] += self._rarity(found.functions.size) * found.full
        return scores


def _raise(fit: Array, functions: Array, to: Array) -> None:
    fit[functions] = np.maximum(fit[functions], to)


def listed(index: Index, among: Array | None) -> Ranked:
    """All functions, or those in `among`, in the order of servers and documents."""
    functions = [*range(index.size)] if among is None else np.flatnonzero(among).tolist()
    every = np.ones(index.size, bool) if among is None else among
    return Ranked(functions, every, every, np.zeros(index.size, np.float32))
