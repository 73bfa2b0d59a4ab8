"""Which of the functions that share words with a question fit it best.

The index says which functions know which concept of the question, and in what field: cheap, so for all of them. The best
hundred of those are looked at: how much of its own name the question explains, and whether it does what is wanted. Whoever reads on
behind them gets the others in the order of BM25.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from doorward.search_question import Concept, Phrase, Question
from doorward.search_words import FILLER

CANDIDATES = 70
"""Functions that are looked at."""

W = dict(name=0.84, near=0.8, far=0.2, precision=0.42, sprec=0.1, kind=0.17, unsure=0.192, server=0.178, plain=0.5, dep=0.1, noun=0.1,hint=0.5)

_BRIEF, _LONG = "name noun summary route tags", "description parameters"
_UNSAID = FILLER | frozenset("list get read show retriev creat add updat replac patch put post delet remov set v1 v2 v3 rest".split())


class Words:
    """In how many functions each word is: of servers, names, summaries, routes and tags."""

    def __init__(self, counts: Mapping[str, int], functions: int, servers: Collection[str]) -> None:
        self.counts = counts
        self.functions = functions
        self.servers = servers
        self.doing: dict[str, frozenset[int]] = {}
        self.rarity = lru_cache(None)(self._rarity)

    def _rarity(self, word: str) -> float:
        return math.log(1 + self.functions / (self.counts.get(word, 0) + 0.5))

    def knows(self, phrase: Phrase) -> bool:
        return all(word in self.counts for word in phrase)

    def near(self, word: str) -> list[Phrase]:
        """What may be meant by a word that is in no name: two words written as one, or known words one slip away."""
        halves = [(word[:i], word[i:]) for i in range(3, len(word) - 2)]
        return [h for h in halves if self.knows(h)][:2] or [(w,) for w in sorted(_slips(word) & self.counts.keys(), key=self.rarity)[:3]]


class Ranking:
    """The functions that fit `question`, of those that fit the expression `only` (all, if it is empty)."""

    def __init__(self, db: sqlite3.Connection, words: Words, question: Question, only: str) -> None:
        self._db, self._words, self._question, self._only = db, words, question, only
        concepts = [self._understood(c, after) for c, after in zip(question.concepts, [*question.concepts[1:], None], strict=True)]
        named = [c for c in concepts if c.phrase[0] in words.servers]
        self._servers = [c.phrase for c in named]
        self._about = [c for c in concepts if c not in named] or named
        self._weights = {c.phrase: self._weight(c) for c in self._about}
        self._solid = [c for c in self._about if not c.plain] or self._about

    def page(self, limit: int, offset: int) -> tuple[list[int], int]:
        """Some of the rowids, best first, and how many there are."""
        phrases = [p for c in self._about for p in c.phrases if self._words.knows(p)]
        brief, long = _any(phrases), _any(c.phrase for c in self._solid)
        everything = f"{{{_LONG}}} : ({long})" + (f" OR {{{_BRIEF}}} : ({brief})" if brief else "")
        total = self._db.execute("SELECT count(*) FROM search WHERE search MATCH ?", [self._match(everything)]).fetchone()[0]
        best = self._best()
        if len(best) < min(offset + limit, total):
            rest = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rank LIMIT ?"
            rows = self._db.execute(rest, [self._match(everything), offset + limit + len(best)])
            best = list(dict.fromkeys([*best, *(row for (row,) in rows)]))
        return best[offset : offset + limit], total

    def _understood(self, concept: Concept, after: Concept | None) -> Concept:
        """With what may be meant by words that no name has, or that names write together (`port forward`: `portforward`)."""
        known = self._words.knows(concept.phrase)
        more = [] if known or len(concept.phrase) > 1 or len(concept.phrase[0]) < 4 else self._words.near(concept.phrase[0])
        if after and self._words.knows(pair := ("".join(concept.phrase + after.phrase),)):
            more.append(pair)
        return replace(concept, phrases=dict.fromkeys(more, 0.7) | dict(concept.phrases)) if more else concept

    def _weight(self, concept: Concept) -> float:
        """How much a concept matters: the rarer, the more; less if its own words are nowhere."""
        rarity = self._words.rarity
        if self._words.knows(concept.phrase):
            weight = max(map(rarity, concept.phrase))
        else:
            known = [max(map(rarity, p)) for p in concept.phrases if self._words.knows(p)]
            weight = min(known) if known else 0.3 * rarity("")
        return weight * (W["plain"] if concept.plain else 1)

    def _best(self) -> list[int]:
        total = sum(self._weights.values()) or 1
        fits: dict[int, float] = {}
        for concept in self._solid:
            weight = self._weights[concept.phrase] / total
            for row, fit in self._fits(concept).items():
                fits[row] = fits.get(row, 0) + weight * fit
        for row in self._rows("server", self._servers) if self._servers else ():
            if row in fits:
                fits[row] += W["server"]
        bonus = W["kind"] if self._question.sure else W["unsure"]
        for row in fits.keys() & self._doing():
            fits[row] += bonus
        chosen = dict(heapq.nlargest(CANDIDATES, fits.items(), key=lambda fit: fit[1])) if len(fits) > CANDIDATES else fits
        said = {word for c in self._about for p in c.phrases for word in p}
        marks = ",".join("?" * len(chosen))
        found = self._db.execute(f"SELECT rowid, name, noun, summary, facts FROM search WHERE rowid IN ({marks})", list(chosen))  # noqa: S608
        scored = []
        for row, name, noun, summary, facts in found:
            fit = chosen[row] + W["precision"] * self._explained(name, said) + W["noun"] * self._explained(noun, said)
            fit += W["sprec"] * self._explained(summary, said)
            fit += sum(self._weights[c.phrase] / total for c in self._about if c not in self._solid and c.phrase[0] in name.split())
            fit -= W["dep"] * ("is_deprecated" in facts)
            scored.append((-fit, len(name), row))
        return [row for _, _, row in sorted(scored)]

    def _explained(self, text: str, said: Collection[str]) -> float:
        """The part of a text that the question says, by the rarity of its words."""
        rarity, everything, known = self._words.rarity, 0.0, 0.0
        for word in text.split():
            if word not in _UNSAID:
                everything += rarity(word)
                known += rarity(word) if word in said else 0
        return known / everything if everything else 0

    def _doing(self) -> set[int]:
        """The functions that do what is wanted."""
        known = self._words.doing
        for kind in self._question.kinds - known.keys():
            match = f'facts : "kind_{kind}"'
            known[kind] = frozenset(row for (row,) in self._db.execute("SELECT rowid FROM search WHERE search MATCH ?", [match]))
        return set().union(*(known[kind] for kind in self._question.kinds))

    def _fits(self, concept: Concept) -> dict[int, float]:
        """The functions that know a concept, and how well it fits each: by its best phrase in its best field."""
        places: dict[tuple[float, str], list[Phrase]] = {}
        for phrase, fit in concept.phrases.items():
            if self._words.knows(phrase):
                places.setdefault((fit * W["near"], "summary route tags"), []).append(phrase)
                places.setdefault((fit * W["name"], "name noun"), []).append(phrase)
            if phrase[0] in self._words.servers:
                places.setdefault((fit * W["hint"], "server"), []).append(phrase)
        if max(self._words.counts.get(w, 0) for w in concept.phrase) < 20 + 0.03 * self._words.functions:
            places.setdefault((W["far"], _LONG), []).append(concept.phrase)
        best: dict[int, float] = {}
        for (fit, columns), phrases in sorted(places.items()):
            best.update(dict.fromkeys(self._rows(columns, phrases), fit))
        return best

    def _rows(self, columns: str, phrases: Iterable[Phrase]) -> list[int]:
        match = self._match(f"{{{columns}}} : ({_any(phrases)})")
        return [row for (row,) in self._db.execute("SELECT rowid FROM search WHERE search MATCH ?", [match])]

    def _match(self, expression: str) -> str:
        return f"{self._only} AND ({expression})" if self._only else expression


def _any(phrases: Iterable[Phrase]) -> str:
    """Words have letters and digits only: quoted, nothing in them is syntax."""
    return " OR ".join("(" + " AND ".join(f'"{word}"' for word in phrase) + ")" for phrase in phrases)


def _slips(word: str) -> set[str]:
    """All words one slip of the finger away: a letter too many, too few, another one, or two that changed places."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    parts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = {a + b[1:] for a, b in parts if b} | {a + b[1] + b[0] + b[2:] for a, b in parts if len(b) > 1}
    return found | {a + c + b[1:] for a, b in parts if b for c in letters} | {a + c + b for a, b in parts for c in letters}
