"""What a function may be called that is asked for by a name that none has."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from doorward.data.words import split_words

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog

FEW = 3000
"""Names that an unknown one is compared with, letter by letter."""

_LONGEST = 100
"""Characters of a name that are looked at: comparing takes time that grows with their square."""

_LIKELY = 10
_FOUND = 0.5
"""What it is worth that a search for the words finds the function first; by meaning, too: `add` finds `create`."""


def names_near(catalog: Catalog, name: str, servers: Sequence[str], most: int = 5) -> list[str]:
    """Qualified names that look like this one, nearest first."""
    server, _, bare = name.rpartition(".")
    asked = [server] if server in servers else servers
    found = [f.qualified for f in catalog.search(" ".join(split_words(bare)), servers=asked, limit=_LIKELY)[0]]
    everything: list[str] = []
    for each in asked:
        everything += [f"{each}.{n}" for n in catalog.names(each)]
        if len(everything) > FEW:  # comparing with all of them would take too long
            return found[:most]
    worth = {known: _FOUND * (1 - place / _LIKELY) for place, known in enumerate(found)}
    return nearest(bare, everything, most, worth) or found[:most]


def told_near(likely: Sequence[str], name: str, server: str, compiled: float) -> str:
    """The hint with the names near an unknown one, and since when its server was not asked, unless it is one of them but for slips:
    a function may be newer than that. "" if there is neither."""
    near = f"Near: {', '.join(likely)}." if likely else ""
    if not compiled or any(_but_for_slips(name, each.rpartition(".")[2]) for each in likely):
        return near
    when = f"{server} was compiled {_ago(time.time() - compiled)}; an operator compiles again by `doorward compile {server}`."
    return f"{near} {when}".strip()


def _but_for_slips(name: str, other: str) -> bool:
    """Whether each word of a name is one of the other's, or nearly so."""
    words = _words(other[:_LONGEST])
    return all(difflib.get_close_matches(word, words, n=1, cutoff=0.75) for word in _words(name[:_LONGEST]))


def _ago(seconds: float) -> str:
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if (many := int(seconds // length)) > 0:
            return f"{many} {unit}{'s' * (many > 1)} ago"
    return "just now"


def nearest(name: str, known: Iterable[str], most: int = 5, worth: dict[str, float] | None = None) -> list[str]:
    """Those of the known names, qualified ones or not, that have most in common with one: whole words in any order, and letters.
    Some are `worth` more."""
    name = name[:_LONGEST]
    worth, wanted = worth or {}, _words(name)
    bare = {each: each.rpartition(".")[2][:_LONGEST] for each in known}
    alike = set(difflib.get_close_matches(name, set(bare.values()), n=2 * most, cutoff=0.7))
    scores = {}
    for each, own in bare.items():
        words = _words(own)
        shared = len(wanted & words)
        if 0 < len(wanted) <= 2 * shared or own in alike or each in worth:
            letters = difflib.SequenceMatcher(None, name, own).ratio()
            scores[each] = shared / max(1, len(wanted)) + shared / max(1, len(words)) / 2 + letters / 2 + worth.get(each, 0.0)
    return sorted(scores, key=lambda each: -scores[each])[:most]


def _words(name: str) -> set[str]:
    """The words of a name, in the singular."""
    return {word.lower().removesuffix("s") for word in split_words(name)}
