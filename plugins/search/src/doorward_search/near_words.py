"""What an unknown word may have meant: two words written as one, another form of a word, or one with a typo."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import Any

from doorward.searching import Phrase
from numpy.typing import NDArray

from doorward_search.index import Index
from doorward_search.question import Concept

Array = NDArray[Any]

MAX_COMPARED = 100
"""Words with the same beginning that are compared with an unknown one."""

MAX_MEANT = 3
"""Words that one may have meant."""

MAX_GUESSED = 12
"""Unknown words of a question that are guessed: who writes two hundred does not mean them."""

MEANT_WEIGHT = 0.875
"""How well these fit, compared with a word of the same meaning."""


def understood(index: Index, concepts: Sequence[Concept], among: Array | None) -> list[Concept]:
    """The concepts of a question with what words may have meant that no function has, of those in `among` if that is
    given."""
    unknown = [
        place
        for place, each in enumerate(concepts)
        if len(each.phrase) == 1 and len(each.phrase[0]) >= 4 and not _has(index, each.phrase[0], among)
    ]
    found = [*concepts]
    for place in unknown[:MAX_GUESSED]:
        phrase, phrases, plain = concepts[place].phrase, concepts[place].phrases, concepts[place].plain
        near = dict.fromkeys(near_words(index, phrase[0], among), MEANT_WEIGHT)
        found[place] = Concept(phrase, near | dict(phrases), plain)
    return found


def _has(index: Index, word: str, among: Array | None) -> bool:
    functions = index.postings(word).functions
    return bool(functions.size if among is None else among[functions].any())


def near_words(index: Index, word: str, among: Array | None) -> list[Phrase]:
    """The phrases that a word may have meant which no function has, the likeliest first."""
    knows = partial(_has, index, among=among)
    halves: list[Phrase] = [(word[:i], word[i:]) for i in range(3, len(word) - 2)]
    if both := [half for half in halves if all(map(knows, half))]:
        return both[:1]
    known = index.stems
    start = bisect_left(known, word[:5])
    alike = itertools.takewhile(
        lambda each: each.startswith(word[:5]), itertools.islice(known, start, start + MAX_COMPARED)
    )
    forms = [each for each in alike if _same_root(word, each) and knows(each)]
    forms = forms or [each for each in _slips(word) if knows(each)]
    return [(form,) for form in sorted(forms, key=lambda form: (len(index.postings(form).functions), form))[:MAX_MEANT]]


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
