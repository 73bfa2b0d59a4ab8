"""Suggests names: for a name that no function has, those that are most like it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from doorward.data.words import split_words

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
