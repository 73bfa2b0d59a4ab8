"""Which patterns of a caller fit no function: they may be misspelt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from doorward.administration import qualified
from doorward.deciding import Patterns, is_wild

if TYPE_CHECKING:
    from doorward import Gateway

_MOST_NAMES, _A_FUNCTION = 20_000, 50
"""Names that are looked at for all patterns together, where to look whether a function is allowed counts as so many;
those that come later are taken to fit."""


def idle(patterns: Iterable[str], principal: str, gateway: Gateway) -> list[str]:
    """The patterns that fit nothing which a principal may call."""
    servers, catalog, policy = gateway.modules.usable_by(principal), gateway.catalog, gateway.broker.permissions.policy
    found, left = [], _MOST_NAMES
    for pattern in patterns:
        if pattern.startswith(("!", "tag:")):  # what is left out need not be there; a tag is of many servers
            continue
        text = qualified(pattern)
        server, _, name = text.partition(".")
        if not is_wild(text):
            function = catalog.function(server, name) if server in servers and name else None
            fits = server in servers if not name else function is not None and policy.allows(function, principal)
        else:
            fits, fitting = left <= 0, Patterns([text])
            for where, each in islice(
                _names([server] if not is_wild(server) and name else servers, servers, catalog), left
            ):
                left -= 1
                if left > 0 and fitting.fit(f"{where}.{each}"):
                    left -= _A_FUNCTION
                    function = catalog.function(where, each)
                    if fits := function is not None and policy.allows(function, principal):
                        break
            fits = fits or left <= 0
        if not fits:
            found.append(pattern)
    return found


def _names(wanted: Iterable[str], usable: Collection[str], catalog: Any) -> Iterator[tuple[str, str]]:
    """Each name of each function of servers that can be used."""
    for server in wanted:
        if server in usable:
            for names in (catalog.names(server), catalog.names(server, "original"), catalog.aliases(server)):
                yield from ((server, name) for name in names)
