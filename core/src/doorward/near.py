"""What a function may be called that is asked for by a name that none has."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward.catalog import Catalog

FEW = 3000
"""Names that an unknown one is compared with, letter by letter."""


def names_near(catalog: Catalog, name: str, servers: Sequence[str], most: int = 5) -> list[str]:
    """Qualified names that look like this one, nearest first."""
    server, _, bare = name.rpartition(".")
    asked = [server] if server in servers else servers
    likely = [f.qualified for f in catalog.search(bare.replace("_", " "), servers=asked, limit=most)[0]]
    everything: list[str] = []
    for server in asked:
        everything += [f"{server}.{n}" for n in catalog.names(server)]
        if len(everything) > FEW:  # comparing with all of them would take too long
            return likely
    return difflib.get_close_matches(name, everything, n=most, cutoff=0.6) or likely
