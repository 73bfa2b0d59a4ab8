"""Which functions of the search index a principal may call: nobody finds what policy denies them, and no program what
its run may not call."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from doorward.access.rules import may_be_narrowed_to, narrowed
from doorward.data.offload import off_loop
from doorward.model.functions import Function

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.model.deciders import Scope
    from doorward.search.index import Index

Mask = Any
"""An array of truth values, one for each function of an index."""

Allows = Callable[[Function], bool]

AllowedNames = Callable[[str, str, tuple[str, ...] | None], Awaitable[Sequence[str] | None]]
"""Answers, by server, principal and the patterns of a run, the names of functions; `None` stands for all."""

MAX_MASKS = 100
"""Masks that are kept: one byte for each function."""

_AT_ONCE = 20
"""Functions that are looked at on the event loop before others have their turn."""


class AllowedFunctions:
    """Masks over the functions of an index, made when they are first needed. Where no policy has patterns, there are
    none. Principals under the same rules share one, and so do runs that are narrowed alike."""

    def __init__(self, catalog: Catalog, policy: Policy) -> None:
        self._catalog, self._policy = catalog, policy
        self._masks: OrderedDict[Scope | tuple[str, ...], tuple[weakref.ref[Index], Mask]] = OrderedDict()
        self._making = anyio.Lock()

    async def mask(self, index: Index, principal: str, within: tuple[str, ...] | None = None) -> Mask | None:
        """A truth value for each function of an index; `None` if the principal may call all of them. `within` are the
        patterns by which a run is narrowed, if it is."""
        allowed = own = None
        if (scope := self._policy.scope(principal)) is not None:
            allows = partial(self._policy.allows, principal=principal)
            allowed = await self._kept(scope, index, allows, index.servers, here=bool(scope.principal))
        if within is not None:
            meant = [server for server in index.servers if may_be_narrowed_to(within, server)]
            own = await self._kept(within, index, partial(narrowed, patterns=within), meant, here=False)
        return both(allowed, own)

    async def names(self, server: str, principal: str, within: tuple[str, ...] | None = None) -> Sequence[str]:
        """The names of the functions of a server that may be called, in the order of its document."""
        index = await self._catalog.index.wait()
        mask = await self.mask(index, principal, within)
        if server not in index.servers or mask is None:
            return self._catalog.names(server) if mask is None else ()
        number = index.servers.index(server)
        first, end = index.first[number : number + 2]
        return [name for name, may in zip(index.names[first:end], mask[first:end], strict=True) if may]

    async def _kept(
        self, key: Scope | tuple[str, ...], index: Index, allows: Allows, servers: Sequence[str], *, here: bool
    ) -> Mask:
        if (known := self._known(key, index)) is not None:
            return known
        async with self._making:
            if (known := self._known(key, index)) is not None:
                return known
            mask = await self._made(index, allows, servers, here=here)
            self._masks[key] = weakref.ref(index), mask
            while len(self._masks) > MAX_MASKS:
                self._masks.popitem(last=False)
            return mask

    def _known(self, key: Scope | tuple[str, ...], index: Index) -> Mask | None:
        of, mask = self._masks.get(key, (None, None))
        if of is None or of() is not index:
            return None
        self._masks.move_to_end(key)
        return mask

    async def _made(self, index: Index, allows: Allows, servers: Sequence[str], *, here: bool) -> Mask:
        """Server by server, those that are named."""
        import numpy as np

        mask = np.zeros(index.size, bool)
        for number, server in enumerate(index.servers):
            if server not in servers:
                continue
            names = index.names[index.first[number] : index.first[number + 1]]
            allowed = await allowed_names(self._catalog.stored_functions(server), allows, here=here)
            mask[index.first[number] : index.first[number + 1]] = [name in allowed for name in names]
        return mask


async def allowed_names(decode: Callable[[], list[Function]], allows: Allows, *, here: bool) -> set[str]:
    """The names of a server's functions that may be called. Their rows were read on the event loop, where the database
    belongs; they are judged in a thread, or `here`, if upstreams are asked for, because servers belong here, too."""
    return await _allowed_here(await off_loop(decode), allows) if here else await off_loop(_allowed, decode, allows)


def both(one: Mask | None, other: Mask | None) -> Mask | None:
    """What two masks leave; `None` leaves everything."""
    return other if one is None else one if other is None else one & other


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
