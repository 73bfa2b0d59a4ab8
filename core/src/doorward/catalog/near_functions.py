"""The functions that an unknown name may mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward.data.near_names import nearest
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
