"""A search query as concepts: its words, words of similar meaning, and the kind of action that is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from doorward.data.words import STOP_WORDS, Phrase, split_words, stem

MAX_QUESTION_CHARS = 2000
"""Characters of a query that are read."""

MAX_WORDS = 24
"""Words of a query that count."""

_GROUP_WEIGHTS = {"related": 0.4, "same": 0.75}
"""How much a word of the same group counts, by the section of `concepts.txt`; the word itself counts 1."""

READING_KINDS = frozenset(["list", "get", "search"])
"""The kinds of action that change nothing."""

_QUESTION_WORDS = {"who", "which", "what", "how", "where", "is", "has", "may", "can", "are"}

_PLAIN_VERBS = {
    stem(verb)
    for verb in ("list", "show", "get", "fetch", "read", "retrieve", "view", "see", "find", "create", "add", "make")
}
_PLAIN_VERBS |= {stem(verb) for verb in ("new", "update", "edit", "change", "set", "delete", "remove")}
"""Verbs that say what to do, and nothing about the thing to do it with."""

_TAG = re.compile(r'(?:^|\s)tag:(?:"([^"]{1,100})"|(\S{1,100}))')


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that the query is about: its own `phrase`, and all `phrases` of that meaning with how well they fit, up
    to 1. `plain`: a verb that fits half of all functions."""

    phrase: Phrase
    phrases: Mapping[Phrase, float]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A query, understood. `kinds` are the actions that are wanted (list, get, search, create, update, delete, write);
    `sure`, if the query names them. `tags` must all match."""

    concepts: tuple[Concept, ...]
    kinds: frozenset[str]
    sure: bool
    tags: tuple[str, ...]


def read(text: str) -> Question:
    """Understand a query. Its only syntax is `tag:NAME` or `tag:"A NAME"`, with `*` at the end for a prefix."""
    text = text[:MAX_QUESTION_CHARS]
    tags = tuple(quoted or bare for quoted, bare in _TAG.findall(text))
    words = split_words(_TAG.sub(" ", text))[:MAX_WORDS]
    kinds, sure = _wanted(words)
    return Question(tuple(_concepts(words)), kinds, sure, tags)


def _wanted(words: list[str]) -> tuple[frozenset[str], bool]:
    """The kinds of action that are wanted, by the first word that is not filler, and whether the query names them."""
    if words and words[0] in _QUESTION_WORDS and words[:2] != ["how", "to"]:
        return READING_KINDS, True
    verbs = _dictionary().verbs
    for number, word in enumerate(words):
        if word not in STOP_WORDS:
            phrase = tuple(map(stem, words[number : number + 2]))
            kinds = verbs.get(phrase) or verbs.get(phrase[:1])
            return (kinds, True) if kinds else (READING_KINDS, False)
    return READING_KINDS, False


def _concepts(words: list[str]) -> Iterable[Concept]:
    """The longest phrases that the dictionary knows, else single words; filler words only if there are no others."""
    groups, longest = _dictionary().groups, _dictionary().longest
    stemmed = tuple(map(stem, words))
    filler = (
        {stem(word) for word in words if word in STOP_WORDS} if any(word not in STOP_WORDS for word in words) else set()
    )
    seen: set[Phrase] = set()
    at = 0
    while at < len(words):
        lengths = range(min(longest, len(words) - at), 1, -1)
        phrase = next((p for n in lengths if (p := stemmed[at : at + n]) in groups), stemmed[at : at + 1])
        at += len(phrase)
        if phrase not in seen and (len(phrase) > 1 or phrase[0] not in filler):
            plain = len(phrase) == 1 and phrase[0] in _PLAIN_VERBS and not seen and words[0] not in _QUESTION_WORDS
            seen.add(phrase)
            yield Concept(phrase, {**groups.get(phrase, {}), phrase: 1.0}, plain)


class _Dictionary(NamedTuple):
    """The phrases that may stand for a phrase and how well, verbs' kinds of action, the longest phrase's length."""

    groups: dict[Phrase, dict[Phrase, float]]
    verbs: dict[Phrase, frozenset[str]]
    longest: int


@cache
def _dictionary() -> _Dictionary:
    groups: dict[Phrase, dict[Phrase, float]] = {}
    verbs: dict[Phrase, frozenset[str]] = {}
    section = ""
    for line in Path(__file__).with_name("concepts.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            group = [tuple(map(stem, split_words(member))) for member in line.split(",") if member.strip()]
            for phrase in group:
                if section in _GROUP_WEIGHTS:
                    known = groups.setdefault(phrase, {})
                    known |= {other: max(_GROUP_WEIGHTS[section], known.get(other, 0)) for other in group}
                else:
                    verbs[phrase] = verbs.get(phrase, frozenset()) | {section}
    return _Dictionary(groups, verbs, max(map(len, groups)))
