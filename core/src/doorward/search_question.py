"""A question as concepts: its words, what may stand for them, and what it wants done."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from doorward.search_concepts import RELATED, SAME, VERBS
from doorward.search_words import FILLER, split_words, stem

MOST = 24
"""Words of a question that count."""

SYNONYM, KIN = 0.75, 0.4
"""How much a word of the same group counts, and one of a group that is only related."""

_READS = frozenset(["list", "get", "search"])
_PLAIN = frozenset(
    map(stem, "list show get fetch read retrieve view see find create add make new update edit change set delete remove".split())
)
"""Verbs that say what to do with a thing and not with which."""

_ASKING = ("who", "which", "what", "how", "where", "is", "has", "may", "can", "are")

_TAG = re.compile(r'(?:^|\s)tag:(?:"([^"]{1,100})"|(\S{1,100}))')

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that the question is about: phrases (of stems) that mean it, and how well each does, up to 1."""

    phrase: Phrase
    phrases: dict[Phrase, float]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """`kinds`: what is asked for (list, get, search, create, update, delete), surely if `sure`. `tags` must all fit."""

    concepts: tuple[Concept, ...]
    kinds: frozenset[str]
    sure: bool
    tags: tuple[str, ...]


def read(text: str) -> Question:
    """Nothing of the text is syntax but `tag:NAME` (or `tag:"A NAME"`, with `*` at its end for what begins so)."""
    text = text[:2000]
    tags = tuple(quoted or bare for quoted, bare in _TAG.findall(text))
    words = split_words(_TAG.sub(" ", text))[:MOST]
    kinds, sure = _wanted(words)
    return Question(tuple(_concepts(words)), kinds, sure, tags)


def _wanted(words: list[str]) -> tuple[frozenset[str], bool]:
    verbs = _verbs()
    for number, word in enumerate(words):
        if word in _ASKING and number == 0 and words[:2] != ["how", "to"]:
            return _READS, True
        if word not in FILLER:
            found = verbs.get(stem(word), frozenset())
            return (found, True) if found else (_READS, False)
    return _READS, False


def _concepts(words: list[str]) -> Iterable[Concept]:
    stemmed = [stem(w) for w in words]
    groups, longest = _groups()
    at, seen = 0, set()
    useful = [w for w in words if w not in FILLER]
    while at < len(words):
        length = next((n for n in range(longest, 0, -1) if n > 1 and at + n <= len(words) and tuple(stemmed[at : at + n]) in groups), 1)
        phrase = tuple(stemmed[at : at + length])
        filler = length == 1 and useful and words[at] in FILLER
        at += length
        if phrase in seen or filler:
            continue
        seen.add(phrase)
        yield Concept(phrase, {**groups.get(phrase, {}), phrase: 1.0}, plain=length == 1 and phrase[0] in _PLAIN and len(seen) == 1 and words[0] not in _ASKING)


@cache
def _verbs() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in VERBS.strip().splitlines():
        kind, _, words = line.partition(":")
        for word in words.split(","):
            found.setdefault(stem(word.strip()), set()).add(kind)
    return {word: frozenset(kinds) for word, kinds in found.items()}


@cache
def _groups() -> tuple[dict[Phrase, dict[Phrase, float]], int]:
    """What may stand for a phrase, and how many words the longest one has."""
    found: dict[Phrase, dict[Phrase, float]] = {}
    for text, weight in ((RELATED, KIN), (SAME, SYNONYM)):
        for line in text.strip().splitlines():
            group = [tuple(map(stem, split_words(member))) for member in line.split(",")]
            for phrase in group:
                found.setdefault(phrase, {}).update(dict.fromkeys(group, weight))
    return found, max(map(len, found))
