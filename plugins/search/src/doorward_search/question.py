"""A search query as concepts: its words, words of similar meaning, and the kind of action that is wanted.

The order of words does not matter: agents write queries as lists of words, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from doorward.searching import STOP_WORDS, Phrase, split_words, stem

from doorward_search.document import KINDS, tag
from doorward_search.segment import digest

MAX_QUESTION_CHARS = 4000
"""Characters of a query that are read."""

MAX_WORDS = 200
"""Words of a query that count."""

_GROUP_WEIGHTS = {"related": 0.4, "same": 0.75}
"""How much a word of the same group counts, by the section of `concepts.txt`; the word itself counts 1."""

READING_KINDS = ("list", "get", "search")
"""The kinds of action that change nothing."""

_QUESTION_WORDS = frozenset(["who", "which", "what", "where", "how"])

_VERBS = "list show get fetch read retrieve view see find create add make new update edit change set delete remove"
_PLAIN_VERBS = frozenset(map(stem, _VERBS.split()))
"""Verbs that say what to do, and nothing about the thing to do it with."""

_TALK = "also another check give go help know let look more need provide take tell try"
_PLAIN_WORDS = _PLAIN_VERBS | set(map(stem, _TALK.split()))
"""These verbs, and words that tell of who asks rather than of what is asked for. Documents have few of them, so they
would count as rare words do."""

NEAR = 8
"""The words of a phrase are among so many words of a question: `find` and `by` at its two ends are none."""

_PLAIN_VOTES, _VERB_VOTES, _QUESTION_VOTES = 2.0, 1.0, 1.5
"""How much a plain verb, another verb and a word as `which` say of what is wanted."""

_GET_OF_SEVERAL = 0.5
"""How much to get one thing is wanted if the question has a plural."""

_TAG = re.compile(r'(?:^|\s)tag:(?:"([^"]{1,100})"|(\S{1,100}))')

_SAYS_NOTHING = re.compile(
    r"\b\w+n['’]t\b|(?:\bwould|['’]d)\s+like\b|(?<=\w)['’](?:[dms]|ll|re|ve)\b|(?<!\w)\d+(?:[.,:/-]\d+)+(?!\w)",
    re.IGNORECASE,
)
"""`don't`, `would like`, the end of `I'm`, and values of several numbers, as `4.9` and `1:45`: no words to find."""

_VALUES = (
    (
        re.compile(r"(?<![\w@-])[\w-]+\.(?:csv|docx?|gif|jpe?g|json|log|md|pdf|png|pptx?|txt|xlsx?|xml|ya?ml|zip)\b"),
        r"\g<0> file",
    ),
    (re.compile(r"\b(?:https?://|www\.)[^\s\"'<>]+"), r"\g<0> url webpage"),
)
"""Values that say of what kind they are: the names of files, and addresses of pages."""

_CURRENCIES = re.compile(
    r"\b(dollar|euro|yen|yuan|rupee|peso|franc|USD|EUR|GBP|JPY|CNY|INR|CAD|AUD|CHF|MXN)s?\b", re.IGNORECASE
)
"""Two of them in one question are of a currency and another one."""

_QUOTED = re.compile(r'["“«][^"”»]{2,80}["”»]|(?<!\w)\'[^\']{2,80}\'(?!\w)')
_CAPITALISED = re.compile(r"\b[A-ZÀ-Þ][^\W_]+")


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that the query is about: its own `phrase`, and all `phrases` of that meaning with how well they fit, up
    to 1. `plain`: a verb that fits half of all functions, a word of mere talk, or a number."""

    phrase: Phrase
    phrases: Mapping[Phrase, float]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A query, understood. `written` are its words as they are; `kinds` are the actions that are wanted, with how much,
    up to 1. `names`: it calls something by its name. `tags` must all match; one may
    end with `*`. `same` is the digest of its words."""

    concepts: tuple[Concept, ...]
    written: tuple[str, ...]
    kinds: Mapping[str, float]
    names: bool
    tags: tuple[str, ...]
    same: int


def read(text: str) -> Question:
    """Understand a query. Its only syntax is `tag:NAME` or `tag:"A NAME"`, with `*` at the end for a prefix."""
    text = text[:MAX_QUESTION_CHARS]
    tags = tuple(_tag(quoted or bare) for quoted, bare in _TAG.findall(text))
    said = _TAG.sub(" ", text)
    for value, with_kind in _VALUES:
        said = value.sub(with_kind, said)
    if len({name.lower() for name in _CURRENCIES.findall(said)}) > 1:
        said += " currency"
    everything = split_words(said)
    spoken = split_words(_SAYS_NOTHING.sub(" ", said)) or everything
    words = list(dict.fromkeys(spoken))[:MAX_WORDS]
    stems = {stem(word) for word in words}
    telling = {stem(word) for word in words if word not in STOP_WORDS} or stems
    return Question(
        tuple(_concepts(stems, telling, [*map(stem, spoken)])),
        tuple(sorted(words)),
        _wanted(words, spoken),
        _names_something(text),
        tags,
        digest(everything),
    )


def untagged(text: str) -> str:
    """What a query says besides its tags."""
    return " ".join(_TAG.sub(" ", text[:MAX_QUESTION_CHARS]).split())


def _tag(asked: str) -> str:
    return tag(asked) + "*" * asked.endswith("*")


def _wanted(words: Sequence[str], spoken: Sequence[str]) -> Mapping[str, float]:
    """The kinds of action that are wanted; what reads, if the words name none. Each verb has votes, and the kinds
    with most of them count 1. A verb has its plain form: `sets` and `links` are things, `changed` and `running` say
    which ones."""
    votes: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    verbs = _dictionary().verbs
    if not _QUESTION_WORDS.isdisjoint(words):
        votes |= dict.fromkeys(READING_KINDS, _QUESTION_VOTES)
    for verb in _dictionary().verbs_in(words, spoken):
        plain = len(verb) > 1 or stem(verb[0]) in _PLAIN_VERBS
        for kind in verbs[verb]:
            votes[kind] += _PLAIN_VOTES if plain else _VERB_VOTES
    if not any(votes.values()):
        votes |= dict.fromkeys(READING_KINDS, 1.0)
    most = max(votes.values())
    if votes["list"] == votes["get"] == most and _several(words):
        votes["get"] *= _GET_OF_SEVERAL
    return {kind: count / most for kind, count in votes.items() if count}


def _several(words: Iterable[str]) -> bool:
    """Whether a word is a plural: which models there are is a list."""
    return any(len(word) > 3 and word.endswith("s") and not word.endswith("ss") for word in words)


def _names_something(text: str) -> bool:
    """Whether a query has something in quotes, or a word with a capital letter that is no filler word and not in the
    dictionary: `Radiohead`, but not `List` or `Issue`."""
    dictionary = _dictionary()
    return bool(_QUOTED.search(text)) or any(
        not (word in STOP_WORDS or (word,) in dictionary.verbs or (stem(word),) in dictionary.groups)
        for word in map(str.lower, _CAPITALISED.findall(text))
    )


def _concepts(stems: Collection[str], telling: Collection[str], spoken: Sequence[str]) -> Iterable[Concept]:
    """The longest phrases that the dictionary knows and whose words are all there, then the other words; filler words
    only if there are no others."""
    dictionary, left = _dictionary(), set(stems)
    found: list[Phrase] = []
    for phrase in dictionary.groups_in(stems, spoken):
        if left.issuperset(phrase):
            found.append(phrase)
            left.difference_update(phrase)
    for phrase in [*found, *((word,) for word in sorted(left.intersection(telling)))]:
        plain = len(phrase) == 1 and (phrase[0] in _PLAIN_WORDS or phrase[0].isdigit())
        yield Concept(phrase, {**dictionary.groups.get(phrase, {}), phrase: 1.0}, plain)


class _Dictionary(NamedTuple):
    """The phrases that may stand for a phrase and how well; the kinds of action of verbs, as they are written; and the
    phrases and verbs of several words, by the first of them in the alphabet."""

    groups: dict[Phrase, dict[Phrase, float]]
    verbs: dict[Phrase, frozenset[str]]
    longer: dict[str, list[Phrase]]

    def groups_in(self, stems: Collection[str], spoken: Sequence[str]) -> list[Phrase]:
        """The phrases of several words that are among these and spoken together, the longest first."""
        found = [phrase for phrase in self._longer_in(stems, spoken) if phrase in self.groups]
        return sorted(found, key=lambda phrase: (-len(phrase), phrase))

    def verbs_in(self, words: Collection[str], spoken: Sequence[str]) -> list[Phrase]:
        """The verbs whose words are among these and spoken together."""
        longer = [phrase for phrase in self._longer_in(words, spoken) if phrase in self.verbs]
        return longer + [(word,) for word in words if word not in STOP_WORDS and (word,) in self.verbs]

    def _longer_in(self, words: Collection[str], spoken: Sequence[str]) -> Iterable[Phrase]:
        known = set(words)
        for word in words:
            for phrase in self.longer.get(word, ()):
                if known.issuperset(phrase) and _together(phrase, spoken):
                    yield phrase


def _together(phrase: Phrase, spoken: Sequence[str]) -> bool:
    """Whether all words of a phrase are near one another, in whatever order."""
    starts = range(max(1, len(spoken) - NEAR + 1))
    return any({*spoken[start : start + NEAR]}.issuperset(phrase) for start in starts)


@cache
def _dictionary() -> _Dictionary:
    groups: dict[Phrase, dict[Phrase, float]] = {}
    verbs: dict[Phrase, frozenset[str]] = {}
    section = ""
    for line in Path(__file__).with_name("concepts.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            members = [tuple(split_words(member)) for member in line.split(",") if member.strip()]
            if weight := _GROUP_WEIGHTS.get(section):
                group = [tuple(map(stem, member)) for member in members]
                for phrase in group:
                    known = groups.setdefault(phrase, {})
                    known |= {other: weight for other in group if known.get(other, 0) < weight}
            else:
                verbs |= {verb: verbs.get(verb, frozenset()) | {section} for verb in members}
    longer: dict[str, list[Phrase]] = {}
    for phrase in {*groups, *verbs}:
        if len(phrase) > 1:
            longer.setdefault(min(phrase), []).append(phrase)
    return _Dictionary(groups, verbs, longer)
