"""What the words of a question count: those that are words of the catalog, rare ones more than common ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from doorward.searching import STOP_WORDS, stem

from doorward_search.document import KINDS
from doorward_search.learning.lessons import HALF_LIFE_SECONDS

if TYPE_CHECKING:
    from doorward_search.index import Index
    from doorward_search.learning.known import Known
    from doorward_search.question import Question

MAX_BONUS = 0.3
"""What it adds to the score of a function, at most, that these words led to again and again. Words that fit best add
1."""

CREDIT_EXPONENT = 0.75
"""With 1 each word of a question would be credited with a whole use, with 0 all of them together."""

USUAL_TIMES = 3.0
"""After so many times a word counts half of what it can."""

_FILLERS = frozenset(map(stem, STOP_WORDS))


def shares(index: Index, question: Question) -> dict[str, float]:
    """The words of a question that the catalog has, each with its share of what they say together. All others stay
    unknown: a question may hold names, numbers or worse."""
    words = {word for concept in question.concepts for word in concept.phrase if index.knows(word)} - _FILLERS
    rarity = {word: math.log1p(index.size / max(1, index.postings(word).functions.size)) for word in sorted(words)}
    whole = sum(rarity.values())
    return {word: part / whole for word, part in rarity.items()}


def credits(shares: Mapping[str, float]) -> dict[str, float]:
    """What each word of a question is credited with for a function that it led to: one of many words less."""
    return {word: min(1.0, share * len(shares) ** CREDIT_EXPONENT) for word, share in shares.items()}


class Learned:
    """What is known of a principal, by the numbers of an index: looked up word by word, when somebody asks for it."""

    def __init__(self, index: Index, known: Known) -> None:
        self.index, self.known = index, known
        self._revision = known.revision
        self._of: dict[str, tuple[Any, Any, Any]] = {}

    def of(self, word: str) -> tuple[Any, Any, Any]:
        """The functions that a word led to, how often, and when last."""
        if self._revision != self.known.revision:
            self._revision = self.known.revision
            self._of.clear()
        if word not in self._of:
            places = (
                (self.index.number(*f.partition(".")[::2]), amount) for f, amount in self.known.words[word].items()
            )
            theirs = {number: amount for number, amount in places if number is not None}  # else it is gone by now
            times, last = np.array([[*amount] for amount in theirs.values()]).reshape(-1, 2).T
            self._of[word] = np.array([*theirs], np.int64), times, last
        return self._of[word]


def bonus(learned: Learned, question: Question, now: float) -> Any:
    """What earlier use adds to the score of each function, `None` if it says nothing.

    It grows with each time, and with the share of the question that led to the function before: to share one common
    word with an earlier question gains next to nothing. Nothing raises a function that deletes, unless that is what is
    asked."""
    index = learned.index
    said = {word: share for word, share in shares(index, question).items() if word in learned.known.words}
    if not said:
        return None
    strength, covered = np.zeros(index.size, np.float32), np.zeros(index.size, np.float32)
    for word, share in said.items():
        functions, times, last = learned.of(word)
        left = times * 2.0 ** (-np.maximum(0.0, now - last) / HALF_LIFE_SECONDS)
        strength[functions] += share * (1.0 - 2.0 ** (-left / USUAL_TIMES))
        covered[functions] += share
    found = MAX_BONUS * strength * covered
    if "delete" not in question.kinds:
        found[index.kinds & (1 << KINDS.index("delete")) > 0] = 0
    return found
