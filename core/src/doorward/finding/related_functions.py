"""Which functions belong to one: who gives what it needs, and what runs often call beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from doorward.describe.dialects import dialect_of
from doorward.graph.producers import LIKELY, Edge
from doorward.learning.known import MAX_OFTEN_WITH
from doorward.learning.learned_edges import with_learned

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.learning.learning import Learning
    from doorward.model.functions import Function
    from doorward.model.programs import Program

MAX_PRODUCERS = 3
"""Functions that a card names for one argument."""


class RelatedFunctions:
    """What the catalog says of that, and what was learned from use. `lets` answers whether an asker may call a function
    by its qualified name: nobody is told of one that they may not."""

    def __init__(self, catalog: Catalog, learning: Learning, lets: Callable[[Program, str], bool]) -> None:
        self._catalog, self._learning, self._lets = catalog, learning, lets

    def needs(self, function: Function, asker: Program) -> list[Edge]:
        """Who is likely to give what a function needs, the surest first for each argument. The producer of another
        server is `server.name`."""
        documented = self._catalog.needs(function.server, function.name)
        known = self._learning.known(asker.principal)
        of: dict[str, list[Edge]] = {}
        for edge in with_learned(documented, function.server, function.name, known):
            told = of.setdefault(edge.parameter, [])
            producer = edge.producer if "." in edge.producer else f"{function.server}.{edge.producer}"
            if edge.confidence >= LIKELY and len(told) < MAX_PRODUCERS and self._lets(asker, producer):
                told.append(edge)
        return [edge for edges in of.values() for edge in edges]

    def often_with(self, function: Function, asker: Program) -> list[str]:
        """The functions that runs call most often beside this one."""
        near = self._learning.known(asker.principal).often_with(function.qualified)
        return [name for name in near if self._lets(asker, name)][:MAX_OFTEN_WITH]

    def told(self, function: Function, asker: Program) -> str:
        """All that as comments at the end of a card."""
        mark = dialect_of(asker.language).mark
        found: dict[str, list[str]] = {}
        for edge in self.needs(function, asker):
            found.setdefault(edge.parameter, []).append(f"`{edge.field}` of {edge.producer}")
        lines = [f"{parameter}: {' or '.join(sources)}" for parameter, sources in found.items()]
        if often := self.often_with(function, asker):
            lines.append(f"often with: {', '.join(often)}")
        return "".join(f"\n{mark} {line}" for line in lines)
