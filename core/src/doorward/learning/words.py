"""What the words of a question count: those that are words of the catalog, rare ones more than common ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from doorward.learning.lessons import Amount
from doorward.search.document import KINDS

if TYPE_CHECKING:
    from doorward.search.index import Index
    from doorward.search.question import Question

MAX_BONUS = 0.3
"""What it adds to the score of a function, at most, that these words led to again and again. Words that fit best add
1."""

CREDIT_EXPONENT = 0.75
"""With 1 each word of a question would be credited with a whole use, with 0 all of them together."""

USUAL_TIMES = 3.0
"""After so many times a word counts half of what it can."""


def shares(index: Index, question: Question) -> dict[str, float]:
    """The words of a question that the catalog has, each with its share of what they say together. All others stay
    unknown: a question may hold names, numbers or worse."""
    words = {word for concept in question.concepts for word in concept.phrase if index.knows(word)}
    rarity = {word: math.log1p(index.size / max(1, index.postings(word).functions.size)) for word in sorted(words)}
    whole = sum(rarity.values())
    return {word: part / whole for word, part in rarity.items()}


def credits(shares: Mapping[str, float]) -> dict[str, float]:
    """What each word of a question is credited with for a function that it led to: one of many words less."""
    return {word: min(1.0, share * len(shares) ** CREDIT_EXPONENT) for word, share in shares.items()}


def bonus(
    index: Index,
    question: Question,
    known: Mapping[str, Mapping[str, Amount]],
    numbers: Mapping[str, int | None],
    now: float,
) -> Any:
    """What earlier use adds to the score of each function, `None` if it says nothing. `known` has for words the
    functions that they led to, `numbers` the numbers of functions in the index.

    It grows with each time, and with the share of the question that led to the function before: to share one common
    word with an earlier question gains next to nothing. Nothing raises a function that deletes, unless that is what is
    asked."""
    strength: dict[str, float] = {}
    covered: dict[str, float] = {}
    for word, share in shares(index, question).items():
        for function, amount in known.get(word, {}).items():
            weight = 1.0 - 2.0 ** (-amount.of_word(now) / USUAL_TIMES)
            strength[function] = strength.get(function, 0.0) + share * weight
            covered[function] = covered.get(function, 0.0) + share
    found = [(number, f) for f in strength if (number := numbers[f]) is not None]
    if not found:
        return None
    learned = np.zeros(index.size, np.float32)
    for number, function in found:
        learned[number] = MAX_BONUS * strength[function] * covered[function]
    if "delete" not in question.kinds:
        learned[index.kinds & (1 << KINDS.index("delete")) > 0] = 0
    return learned


class Numbers(dict[str, int | None]):
    """The numbers of functions in an index, found when they are asked for."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def __missing__(self, qualified: str) -> int | None:
        server, _, name = qualified.partition(".")
        number = None
        if server in self.index.servers:
            place = self.index.servers.index(server)
            first, end = int(self.index.first[place]), int(self.index.first[place + 1])
            names = self.index.names[first:end]
            number = first + names.index(name) if name in names else None
        self[qualified] = number
        return number
