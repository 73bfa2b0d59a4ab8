"""Which functions belong to one: who gives what it needs, and what runs often call beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from doorward.describe.dialects import dialect_of
from doorward.graph.producers import LIKELY
from doorward.learning.known import MAX_OFTEN_WITH
from doorward.learning.learned_edges import with_learned

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.learning.learning import Learning
    from doorward.model.functions import Function
    from doorward.model.programs import Program

MAX_SOURCES = 3
"""Functions that a card names for one argument."""


class RelatedFunctions:
    """What the catalog says of that, and what was learned from use. `lets` answers whether an asker may call a function
    by its qualified name: nobody is told of one that they may not."""

    def __init__(self, catalog: Catalog, learning: Learning, lets: Callable[[Program, str], bool]) -> None:
        self._catalog, self._learning, self._lets = catalog, learning, lets

    def told(self, function: Function, asker: Program) -> str:
        """All that as comments at the end of a card."""
        mark = dialect_of(asker.language).mark
        lines = [f"{parameter}: {' or '.join(given)}" for parameter, given in self._sources(function, asker).items()]
        if often := self._often_with(function, asker):
            lines.append(f"often with: {', '.join(often)}")
        return "".join(f"\n{mark} {line}" for line in lines)

    def _sources(self, function: Function, asker: Program) -> dict[str, list[str]]:
        """The fields that are likely to give what a function needs, the surest first for each argument."""
        documented = self._catalog.needs(function.server, function.name)
        known = self._learning.known(asker.principal)
        found: dict[str, list[str]] = {}
        for edge in with_learned(documented, function.server, function.name, known):
            told = found.setdefault(edge.parameter, [])
            producer = edge.producer if "." in edge.producer else f"{function.server}.{edge.producer}"
            if edge.confidence >= LIKELY and len(told) < MAX_SOURCES and self._lets(asker, producer):
                told.append(f"`{edge.field}` of {edge.producer}")
        return {parameter: told for parameter, told in found.items() if told}

    def _often_with(self, function: Function, asker: Program) -> list[str]:
        """The functions that runs call most often beside this one."""
        near = self._learning.known(asker.principal).often_with(function.qualified)
        return [name for name in near if self._lets(asker, name)][:MAX_OFTEN_WITH]
