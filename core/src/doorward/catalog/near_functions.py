"""The functions that an unknown name may mean, and the hint that names them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward.data.near_names import is_misspelt, nearest
from doorward.data.words import split_words

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.model.search import SearchEngine

MAX_COMPARED_NAMES = 3000
"""Names that an unknown name is compared with, letter by letter."""

_SEARCH_RESULTS = 10
_SEARCH_BONUS = 0.5
"""How much nearer a name counts if a search for the unknown name's words finds its function first. The search knows
meanings: `add` finds `create`."""


def names_near(catalog: Catalog, engine: SearchEngine, name: str, servers: Sequence[str], most: int = 5) -> list[str]:
    """The qualified names most similar to this one, nearest first."""
    server, _, bare = name.rpartition(".")
    asked = [server] if server in servers else servers
    found = [function.qualified for function in engine.near(split_words(bare), asked, _SEARCH_RESULTS)]
    everything: list[str] = []
    for each in asked:
        everything += [f"{each}.{n}" for n in catalog.names(each)]
        if len(everything) > MAX_COMPARED_NAMES:  # comparing with all of them would take too long
            return found[:most]
    worth = {known: _SEARCH_BONUS * (1 - place / _SEARCH_RESULTS) for place, known in enumerate(found)}
    return nearest(bare, everything, most, worth) or found[:most]


def told_near(likely: Sequence[str], name: str, server: str, compiled: float) -> str:
    """A hint with the names near an unknown one and, unless it looks like a misspelling of one of them, the age of its
    server's compile: the function may be newer. "" if there is nothing to say."""
    near = f"Near: {', '.join(likely)}." if likely else ""
    if not compiled or any(is_misspelt(name, each.rpartition(".")[2]) for each in likely):
        return near
    when = f"{server} was compiled {_ago(time.time() - compiled)}"
    return f"{near} {when}; an operator compiles again by `doorward compile {server}`.".strip()


def _ago(seconds: float) -> str:
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if (many := int(seconds // length)) > 0:
            return f"{many} {unit}{'s' * (many > 1)} ago"
    return "just now"
