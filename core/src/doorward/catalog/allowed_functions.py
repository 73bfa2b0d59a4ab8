"""Which functions a principal may call: nobody finds what policy denies them, and no program what its run may not
call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from doorward.access.rules import may_be_narrowed_to, narrowed
from doorward.data.offload import off_loop
from doorward.model.functions import Function
from doorward.model.search import Allowed

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.model.calls import Scope

_Key = tuple[object, "Scope | None", tuple[str, ...] | None, str]
"""The version of the catalog, the rules, the patterns of a run, and the server."""

Allows = Callable[[Function], bool]

MAX_KEPT = 2000
"""Servers, each under some rules, of which is kept what may be called: one byte for each function."""

_AT_ONCE = 20
"""Functions that are looked at on the event loop before others have their turn."""


class AllowedFunctions:
    """What may be called, found out when it is first needed, and again after a compile. Where no policy has patterns,
    there is nothing to find out. Principals under the same rules share it, and so do runs that are narrowed alike."""

    def __init__(self, catalog: Catalog, policy: Policy) -> None:
        self._catalog, self._policy = catalog, policy
        self._kept: OrderedDict[_Key, Allowed] = OrderedDict()
        self._looking = anyio.Lock()

    async def of(
        self, servers: Sequence[str], principal: str, within: tuple[str, ...] | None = None
    ) -> Mapping[str, Allowed] | None:
        """What the principal may call of these servers; `None` if all of it. `within` are the patterns by which a run
        is narrowed, if it is."""
        scope = self._policy.scope(principal)
        if scope is None and within is None:
            return None
        return {server: await self._of_server(server, scope, within, principal) for server in servers}

    async def names(self, server: str, principal: str, within: tuple[str, ...] | None = None) -> Sequence[str]:
        """The names of the functions of a server that may be called, in the order of its document."""
        found = await self.of([server], principal, within)
        return self._catalog.names(server) if found is None else found[server].called()

    async def _of_server(
        self, server: str, scope: Scope | None, within: tuple[str, ...] | None, principal: str
    ) -> Allowed:
        key = self._catalog.seen, scope, within, server
        if (known := self._known(key)) is not None:
            return known
        if scope is not None and within is not None:
            may = {*(await self._of_server(server, scope, None, principal)).called()}
            own = await self._of_server(server, None, within, principal)
            may.intersection_update(own.called())
            return self._keep(key, Allowed(own.names, bytes(name in may for name in own.names)))
        async with self._looking:
            if (known := self._known(key)) is not None:
                return known
            names, allows, here = self._catalog.names(server), partial(narrowed, patterns=within or ()), False
            may = set()
            if scope is not None:
                allows, here = partial(self._policy.allows, principal=principal), bool(scope.principal)
            if scope is not None or may_be_narrowed_to(within or (), server):
                may = await allowed_names(self._catalog.stored_functions(server), allows, here=here)
            return self._keep(key, Allowed(names, bytes(name in may for name in names)))

    def _known(self, key: _Key) -> Allowed | None:
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: _Key, found: Allowed) -> Allowed:
        self._kept[key] = found
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return found


async def allowed_names(decode: Callable[[], list[Function]], allows: Allows, *, here: bool) -> set[str]:
    """The names of a server's functions that may be called. Their rows were read on the event loop, where the database
    belongs; they are judged in a thread, or `here`, if upstreams are asked for, because servers belong here, too."""
    return await _allowed_here(await off_loop(decode), allows) if here else await off_loop(_allowed, decode, allows)


def _allowed(decode: Callable[[], list[Function]], allows: Allows) -> set[str]:
    return {function.name for function in decode() if allows(function)}


async def _allowed_here(functions: list[Function], allows: Allows) -> set[str]:
    allowed = set()
    for place, function in enumerate(functions):
        if allows(function):
            allowed.add(function.name)
        if place % _AT_ONCE == _AT_ONCE - 1:
            await anyio.lowlevel.checkpoint()
    return allowed
