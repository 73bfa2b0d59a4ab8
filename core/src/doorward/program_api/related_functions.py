"""Which functions belong to one: who gives what it needs, and what runs often call beside it. Nobody is told of
functions that they may not call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward.describe.dialects import dialect_of
from doorward.graph.producers import MAX_PRODUCERS, Edge
from doorward.learning.known import MAX_OFTEN_WITH
from doorward.learning.learned_edges import with_learned

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.learning.learning import Learning
    from doorward.model.functions import Function
    from doorward.servers.registry import Servers

LIKELY = 0.5
"""How sure it must be that a function gives what another one needs, to be told beside it."""


class RelatedFunctions:
    """What the catalog says of that, and what was learned from use."""

    def __init__(self, catalog: Catalog, servers: Servers, learning: Learning, policy: Policy) -> None:
        self._catalog, self._servers, self._learning, self._policy = catalog, servers, learning, policy

    def needs(self, function: Function, principal: str) -> list[Edge]:
        """Who is likely to give what a function needs, the surest first for each argument. The producer of another
        server is `server.name`."""
        documented = self._catalog.needs(function.server, function.name)
        known = self._learning.known(principal)
        of: dict[str, list[Edge]] = {}
        for edge in with_learned(documented, function.server, function.name, known):
            producer = edge.producer if "." in edge.producer else f"{function.server}.{edge.producer}"
            if edge.confidence >= LIKELY and self._may_call(producer, principal):
                of.setdefault(edge.parameter, []).append(edge)
        return [edge for edges in of.values() for edge in edges[:MAX_PRODUCERS]]

    def often_with(self, function: Function, principal: str) -> list[str]:
        """The functions that runs call most often beside this one."""
        near = self._learning.known(principal).often_with(function.qualified)
        return [name for name in near if self._may_call(name, principal)][:MAX_OFTEN_WITH]

    def told(self, function: Function, principal: str, language: str) -> str:
        """All that as comments at the end of a card."""
        mark = dialect_of(language).mark
        found: dict[str, list[str]] = {}
        for edge in self.needs(function, principal):
            found.setdefault(edge.parameter, []).append(f"`{edge.field}` of {edge.producer}")
        lines = [f"{parameter}: {' or '.join(sources)}" for parameter, sources in found.items()]
        if often := self.often_with(function, principal):
            lines.append(f"often with: {', '.join(often)}")
        return "".join(f"\n{mark} {line}" for line in lines)

    def _may_call(self, qualified: str, principal: str) -> bool:
        server, _, name = qualified.partition(".")
        if not self._servers.usable(server, principal):
            return False
        if self._policy.scope(principal) is None:  # no pattern: no function has to be read
            return name in self._catalog.names(server)
        function = self._catalog.function(server, name)
        return function is not None and self._policy.allows(function, principal)
