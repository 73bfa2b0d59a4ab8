"""Ranking the functions that share words with a query by how well they fit it.

The index says which functions have which concept of the query in which field. That is cheap, so it is done for all of
them. Then the best are looked at: how much of a function's own name does the query explain, and does the function do
what is wanted? The weights were found by trying, on the half `development` of `benchmarks/questions.tsv`.
"""

from __future__ import annotations

import heapq
import itertools
import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from doorward.catalog.search.question import READING_KINDS, Concept, Question
from doorward.catalog.store import Only, SearchIndex
from doorward.data.words import STOP_WORDS, Phrase, stem

MAX_CANDIDATES = 90
"""Functions that are looked at closely."""

COMMON_SHARE = 0.03
"""A word in the names of a larger share of all functions than this does not count in descriptions and parameters."""

UBIQUITOUS_SHARE = 0.5
"""A word of a larger share of all functions than this does not stand for another word: it says nothing."""

LONG_FIELD_WEIGHT, TYPO_WEIGHT = 0.25, 0.7
"""How much a word counts in a description, a parameter or a model's question, and how much one that was meant by a
typo; in a name, a summary or a path a word counts 1."""

NAME_WEIGHT, NOUN_WEIGHT, SUMMARY_WEIGHT = 0.42, 0.07, 0.12
"""What it adds if the query explains all of a function's name, of the last word of its path, of its summary."""

KIND_BONUS, LIKELY_KIND_BONUS, SERVER_BONUS, DEPRECATED_PENALTY = 0.14, 0.1, 0.5, 0.05
"""What it adds if a function does what is wanted or probably wanted, and if its server is named; what it takes if the
function is deprecated."""

NAMED_SHARE = 0.05
"""If a larger share of a server's functions than this has the server's name in theirs, it is a word of theirs, too."""

MAX_BM25_FUNCTIONS = 2000
"""A word in the names of more functions than this is not weighed by BM25: that would cost the most."""

BM25_BONUS = 0.05
"""What it adds to be the best by BM25."""

MAX_BM25_RESULTS = 30
"""Functions to which BM25 adds something."""

EXACT_NAME_FIT = 100.0
"""What it adds to have exactly the name that was asked for: more than everything else."""

VERB_WEIGHT = 0.5
"""How much a verb such as `list` weighs, compared with equally rare words."""

_NAME_FIELDS, _FACT_FIELDS, _SERVER_FIELDS = ("name", "noun", "route", "tags"), ("facts",), ("server",)
_BRIEF_FIELDS = ("server", "name", "noun", "summary", "route", "tags")
_LONG_FIELDS = ("description", "parameters", "questions")
_FREE_WORDS = STOP_WORDS | {
    stem(verb) for verb in ("list", "get", "read", "show", "retrieve", "create", "add", "update", "replace", "patch")
}
_FREE_WORDS |= {"put", "post", "delet", "remov", "set", "v1", "v2", "v3", "rest"}
"""Words in so many names that a query need not explain them."""

Fields = tuple[str, ...]


class Words:
    """In how many functions each word occurs, in servers, names, summaries, routes and tags. `doing` and `called` cache
    which functions do each kind of action, and which names of servers are words, too."""

    def __init__(
        self, counts: Mapping[str, int], functions: int, servers: Collection[str], doing: dict[str, frozenset[int]]
    ) -> None:
        self.counts = counts
        self.functions = functions
        self.servers = servers
        self.doing = doing
        self.called: dict[Phrase, bool] = {}
        self.ordered = sorted(counts)
        self.rarity = lru_cache(None)(self._rarity)

    def _rarity(self, word: str) -> float:
        return math.log(1 + self.functions / (self.counts.get(word, 0) + 0.5))

    def knows(self, phrase: Phrase) -> bool:
        return all(word in self.counts for word in phrase)

    def near(self, word: str) -> list[Phrase]:
        """What a word in no name may mean: two words written as one, other forms of it, or words one typo away."""
        halves: list[Phrase] = [(word[:i], word[i:]) for i in range(3, len(word) - 2)]
        if both := [half for half in halves if self.knows(half)]:
            return both[:1]
        start = bisect_left(self.ordered, word[:5])
        alike = itertools.takewhile(
            lambda known: known.startswith(word[:5]), itertools.islice(self.ordered, start, start + 100)
        )
        forms = [known for known in alike if _same_root(word, known)] or _slips(word) & self.counts.keys()
        return [(form,) for form in sorted(forms, key=lambda form: (self.rarity(form), form))[:3]]


class Ranking:
    """The functions that fit `question`, restricted by `only`, and to those `among` these if it is not `None`."""

    def __init__(
        self, index: SearchIndex, words: Words, question: Question, only: Only, among: Collection[int] | None = None
    ) -> None:
        self._index, self._words, self._question, self._only, self._among = index, words, question, only, among
        concepts = [
            self._understood(c, after)
            for c, after in zip(question.concepts, [*question.concepts[1:], None], strict=True)
        ]
        named = [c for c in concepts if c.phrase[0] in words.servers and not self._is_word(c.phrase)]
        self._servers = [c.phrase for c in named]
        self._about = [c for c in concepts if c not in named] or named
        self._weights = {c.phrase: self._weight(c) for c in self._about}
        self._total = sum(self._weights.values()) or 1
        self._solid = [c for c in self._about if not c.plain] or self._about

    def page(self, limit: int, offset: int, called: Collection[int] = ()) -> tuple[list[int], int]:
        """Some of the rowids, best first, and how many there are. `called` have exactly the name that was asked for."""
        fits = self._all()
        fits |= {row: EXACT_NAME_FIT for row in called if row in fits}
        first = heapq.nlargest(max(MAX_CANDIDATES, offset + limit), fits, key=fits.__getitem__)
        best = self._looked_at({row: fits[row] for row in first[:MAX_CANDIDATES]}) + first[MAX_CANDIDATES:]
        return best[offset : offset + limit], len(fits)

    def _is_word(self, name: Phrase) -> bool:
        """Whether the name of a server is also a word in the names of functions, as `files` is, and `github` is not."""
        known = self._words.called
        if name not in known:
            called, of_servers = (self._index.count(fields, [name]) for fields in (_NAME_FIELDS, _SERVER_FIELDS))
            known[name] = called > NAMED_SHARE * of_servers
        return known[name]

    def _understood(self, concept: Concept, after: Concept | None) -> Concept:
        """A concept with phrases added for words that are in no name, or that names write together (`port forward`:
        `portforward`)."""
        known = self._words.knows(concept.phrase)
        more = (
            []
            if known or len(concept.phrase) > 1 or len(concept.phrase[0]) < 4
            else self._words.near(concept.phrase[0])
        )
        if after and self._words.knows(pair := ("".join(concept.phrase + after.phrase),)):
            more.append(pair)
        return replace(concept, phrases=dict.fromkeys(more, TYPO_WEIGHT) | dict(concept.phrases)) if more else concept

    def _weight(self, concept: Concept) -> float:
        """How much a concept matters: the rarer, the more; less if its own words occur nowhere."""
        rarity = self._words.rarity
        if self._words.knows(concept.phrase):
            weight = max(map(rarity, concept.phrase))
        else:
            known = [max(map(rarity, p)) for p in concept.phrases if self._words.knows(p)]
            weight = min(known) if known else 0.3 * rarity("")
        return weight * (VERB_WEIGHT if concept.plain else 1)

    def _share(self, concept: Concept) -> float:
        return self._weights[concept.phrase] / self._total

    def _all(self) -> dict[int, float]:
        """Every function that has a concept of the query, and how well it fits at first glance."""
        fits = self._known(UBIQUITOUS_SHARE) or self._known(1)
        if not fits and all(concept.plain for concept in self._about):  # only `list`, and no function has that word
            facts = [(f"kind_{kind}",) for kind in self._question.kinds] + [("reads",)] * bool(
                self._question.kinds & READING_KINDS
            )
            fits = dict.fromkeys(self._having(_FACT_FIELDS, facts), 0.0)
        of_named = self._having(_SERVER_FIELDS, self._servers)
        fits = fits or dict.fromkeys(of_named, 0.0)  # a server is named, and nothing in it fits: show what it has
        for row in fits.keys() & set(of_named):
            fits[row] += SERVER_BONUS
        for place, row in enumerate(self._by_bm25()):
            fits[row] = fits.get(row, 0) + BM25_BONUS / (1 + place / 10)
        bonus = KIND_BONUS if self._question.sure else LIKELY_KIND_BONUS
        for row in fits.keys() & self._doing():
            fits[row] += bonus
        return fits

    def _known(self, most: float) -> dict[int, float]:
        """The fit of functions by concepts. A word of a larger share of functions than `most` stands for no other."""
        fits: dict[int, float] = {}
        for concept in self._solid:
            share = self._share(concept)
            for row, fit in self._fits(concept, most).items():
                fits[row] = fits.get(row, 0) + share * fit
        return fits

    def _by_bm25(self) -> list[int]:
        """The best by the words of the query alone, in whatever field they are."""
        words = {word for c in self._solid for word in c.phrase if self._commonest((word,)) <= MAX_BM25_FUNCTIONS}
        if not words:
            return []
        phrases = [(word,) for word in sorted(words)]
        if self._among is None:
            return self._index.ranked(_BRIEF_FIELDS + _LONG_FIELDS, phrases, self._only, MAX_BM25_RESULTS)
        return [
            row
            for row in self._index.ranked(_BRIEF_FIELDS + _LONG_FIELDS, phrases, self._only, None)
            if row in self._among
        ][:MAX_BM25_RESULTS]

    def _looked_at(self, fits: Mapping[int, float]) -> list[int]:
        said = {word for concept in self._about for phrase in concept.phrases for word in phrase}
        verbs = [(c.phrase[0], self._share(c)) for c in self._about if c not in self._solid]
        scored = []
        for row, (name, noun, summary, facts) in self._index.texts(list(fits), ("name", "noun", "summary", "facts")):
            texts = ((NAME_WEIGHT, name), (NOUN_WEIGHT, noun), (SUMMARY_WEIGHT, summary))
            fit = fits[row] + sum(weight * self._explained(text, said) for weight, text in texts)
            fit += sum(share for verb, share in verbs if verb in name.split()) - DEPRECATED_PENALTY * (
                "is_deprecated" in facts
            )
            scored.append((-fit, len(name), row))
        return [row for _, _, row in sorted(scored)]

    def _explained(self, text: str, said: Collection[str]) -> float:
        """The share of a text that the query explains, by the rarity of its words."""
        rarity, everything, known = self._words.rarity, 0.0, 0.0
        for word in text.split():
            if word not in _FREE_WORDS:
                everything += rarity(word)
                known += rarity(word) if word in said else 0
        return known / everything if everything else 0

    def _doing(self) -> set[int]:
        """The functions that do what is wanted."""
        known = self._words.doing
        for kind in self._question.kinds - known.keys():
            known[kind] = frozenset(self._index.having(_FACT_FIELDS, [(f"kind_{kind}",)], Only()))
        return set().union(*(known[kind] for kind in self._question.kinds))

    def _fits(self, concept: Concept, most: float) -> dict[int, float]:
        """The functions that have a concept, and how well it fits each: by its best phrase in its best field."""
        places: dict[tuple[float, Fields], list[Phrase]] = {}
        if self._commonest(concept.phrase) < COMMON_SHARE * self._words.functions + 20:
            places[LONG_FIELD_WEIGHT, _LONG_FIELDS] = [concept.phrase]
        for phrase, fit in concept.phrases.items():
            if self._words.knows(phrase) and (fit == 1 or self._commonest(phrase) <= most * self._words.functions + 20):
                places.setdefault((fit, _BRIEF_FIELDS), []).append(phrase)
        best: dict[int, float] = {}
        for (fit, fields), phrases in sorted(places.items()):
            best.update(dict.fromkeys(self._having(fields, phrases), fit))
        return best

    def _commonest(self, phrase: Phrase) -> int:
        return max(self._words.counts.get(word, 0) for word in phrase)

    def _having(self, fields: Fields, phrases: Sequence[Phrase]) -> list[int]:
        """The functions that have one of the phrases in these fields."""
        found = self._index.having(fields, phrases, self._only) if phrases else []
        return found if self._among is None else [row for row in found if row in self._among]


def _same_root(one: str, other: str) -> bool:
    """Whether two words have one root, as `remind` and `reminder`, `moderat` and `moder`."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= 5 and len(longer) - len(shorter) <= 4 and longer.startswith(shorter)


def _slips(word: str) -> set[str]:
    """All words one typo away: one letter more, one less, another one, or two swapped."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    parts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = {a + b[1:] for a, b in parts if b} | {a + b[1] + b[0] + b[2:] for a, b in parts if len(b) > 1}
    return (
        found | {a + c + b[1:] for a, b in parts if b for c in letters} | {a + c + b for a, b in parts for c in letters}
    )
