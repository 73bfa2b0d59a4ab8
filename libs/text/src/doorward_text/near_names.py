"""What is told of a name that no function has."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence

from doorward.searching import split_words

_MAX_NAME_CHARACTERS = 100
"""Characters of a name that are compared: the time grows with their square."""


def told_near(likely: Sequence[str], name: str, server: str, compiled: float) -> str:
    """The names near an unknown one and, unless it looks like a misspelling of one of them, the age of its server's
    compile: the function may be newer. "" if there is nothing to say."""
    near = f"Near: {', '.join(likely)}." if likely else ""
    if not compiled or any(_is_misspelt(name, each.rpartition(".")[2]) for each in likely):
        return near
    when = f"{server} was compiled {_ago(time.time() - compiled)}"
    return f"{near} {when}; an operator compiles again by `doorward compile {server}`.".strip()


def _is_misspelt(name: str, other: str) -> bool:
    """Whether each word of a name is also a word of the other, or nearly one."""
    words = _words(other)
    return all(difflib.get_close_matches(word, words, n=1, cutoff=0.75) for word in _words(name))


def _words(name: str) -> set[str]:
    """The words of a name, in the singular."""
    return {word.lower().removesuffix("s") for word in split_words(name[:_MAX_NAME_CHARACTERS])}


def _ago(seconds: float) -> str:
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if (many := int(seconds // length)) > 0:
            return f"{many} {unit}{'s' * (many > 1)} ago"
    return "just now"
