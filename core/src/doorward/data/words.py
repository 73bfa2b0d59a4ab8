"""Splits the words of questions and names for the search, and finds their stems."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

_MAX_NAME_CHARACTERS = 100
"""Characters of a name that are compared: the time grows with their square."""

_LEAST_BEGINNING = 3


def in_place_of(name: str, known: Iterable[str]) -> str:
    """What to write in place of a name that is not known, as the end of a message: the most similar one, else all."""
    known = [*known]
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known) or 'none'}"


def nearest(name: str, known: Iterable[str], most: int = 5, worth: dict[str, float] | None = None) -> list[str]:
    """The known names (qualified or not) that have most in common with `name`: whole words in any order, and letters.
    `worth` is added to the score of some."""
    name = name[:_MAX_NAME_CHARACTERS]
    worth, wanted = worth or {}, _words(name)
    bare = {each: each.rpartition(".")[2][:_MAX_NAME_CHARACTERS] for each in known}
    alike = set(difflib.get_close_matches(name, set(bare.values()), n=2 * most, cutoff=0.7))
    scores = {}
    for each, own in bare.items():
        words = _words(own)
        shared = sum(word in words or any(map(_begins(word), words)) for word in wanted)
        if 0 < len(wanted) <= 2 * shared or own in alike or each in worth:
            letters = difflib.SequenceMatcher(None, name, own).ratio()
            scores[each] = (
                shared / max(1, len(wanted)) + shared / max(1, len(words)) / 2 + letters / 2 + worth.get(each, 0.0)
            )
    return sorted(scores, key=lambda each: -scores[each])[:most]


def _begins(word: str) -> Callable[[str], bool]:
    """Whether a word is the beginning of another one, as `upd` is of `update`; shorter ones say too little."""
    return lambda other: len(word) >= _LEAST_BEGINNING and other.startswith(word)


def _words(name: str) -> set[str]:
    """The words of a name, in the singular."""
    return {word.lower().removesuffix("s") for word in split_words(name)}


MAX_WORD_CHARACTERS = 40
"""Characters of a word that count; the rest is ignored."""

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about all am an and any anybody anyone api are as at be been but by can could d did do does each endpoint
        every everybody everyone everything for from function given had has have her here him his how i if in into is it
        its just ll me method my need no not of on one onto or our out please re s shall she should so some somebody
        someone something somewhere specific t than that the their them then there these they this those to us using ve
        via want was we were what whatever when where which who whom whose why will with without would you your
        """,
    )
)
"""Words that do not say what a question is about."""

_APART = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_SHORT = re.compile("[^aeiou]+[aeiouy][^aeiouwxy]")
"""What an `e` behind it makes another word: `not` and `note`, `car` and `care`."""

_SYLLABLES = re.compile("[aeiouy][^aeiouy]+[aeiouy]")
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[A-Z]{2,}s?(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[A-Z](?=[A-Z][a-z])|[A-Za-z0-9]+")

Phrase = tuple[str, ...]
"""Stems of words that stand together."""


def split_words(text: str) -> list[str]:
    """`issuesListForRepo /repos/{owner}` → issues, list, for, repo, repos, owner: split at camelCase and signs."""
    if text[1:].islower() and text.isascii() and text.isalnum():  # a word, as most that are asked for are
        return [text.lower()]
    found = _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(_APART.sub(" ", text))
    return " ".join(found).lower().split()


@lru_cache(30_000)
def stem(word: str) -> str:
    """A word without its English endings, so that related words are equal: `deployments`, `deployed`, `deploy`. Lighter
    than Porter's stemmer, with his rules for an `e` and a double `l`: `organization` and `organ`, `customer` and
    `custom`, `note` and `not` stay apart."""
    word = word[:MAX_WORD_CHARACTERS]
    if len(word) < 3 or not word.isascii() or word[0].isdigit():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and re.search("[aeiouy]", rest):
            word = rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            word += "e" * bool(_SHORT.fullmatch(rest))
            break
    if word.endswith("ment") and len(word) >= 9:
        word = word[:-4]
    elif word.endswith(("tion", "sion")) and len(word) >= 7:
        word = word[:-3]
    elif word.endswith("tor") and len(word) >= 7:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3 and not _SHORT.fullmatch(word[:-1]):
        word = word[:-1]
    if word.endswith("ll") and _SYLLABLES.search(word):
        word = word[:-1]
    return word[:-1] + "y" if word.endswith("i") and len(word) > 3 else word


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "uses", "xes", "ches", "shes", "zzes")) and len(word) > 5:
        return word[:-2]
    return word[:-1]


def stems(text: str, most: int) -> list[str]:
    """The stems of a text's words, each once and at most so many: to repeat a word gains nothing."""
    return list(dict.fromkeys(map(stem, split_words(text[: most * 12]))))[:most]
