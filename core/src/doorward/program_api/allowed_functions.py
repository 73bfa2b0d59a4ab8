"""Which functions of the search index a principal may call: nobody finds what policy denies them."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import numpy as np
from numpy.typing import NDArray

from doorward.data.offload import off_loop
from doorward.model.functions import Function

if TYPE_CHECKING:
    from doorward.access.policy import Policy, Scope
    from doorward.catalog.catalog import Catalog
    from doorward.search.index import Index

Mask = NDArray[Any]

MAX_MASKS = 100
"""Masks that are kept: one byte for each function."""

_AT_ONCE = 20
"""Functions that are looked at on the event loop before others have their turn."""


class AllowedFunctions:
    """Masks over the functions of an index, made when a principal first searches it. Where no policy has patterns,
    there are none. Principals under the same rules share one."""

    def __init__(self, catalog: Catalog, policy: Policy) -> None:
        self._catalog, self._policy = catalog, policy
        self._masks: OrderedDict[Scope, tuple[weakref.ref[Index], Mask]] = OrderedDict()
        self._making = anyio.Lock()

    async def mask(self, index: Index, principal: str) -> Mask | None:
        """A truth value for each function of an index; `None` if the principal may call all of them."""
        scope = self._policy.scope(principal)
        if scope is None or (known := self._known(scope, index)) is not None:
            return None if scope is None else known
        async with self._making:
            if (known := self._known(scope, index)) is not None:
                return known
            mask = await self._made(index, principal, by_upstream=bool(scope.principal))
            self._masks[scope] = weakref.ref(index), mask
            while len(self._masks) > MAX_MASKS:
                self._masks.popitem(last=False)
            return mask

    def _known(self, scope: Scope, index: Index) -> Mask | None:
        of, mask = self._masks.get(scope, (None, None))
        if of is None or of() is not index:
            return None
        self._masks.move_to_end(scope)
        return mask

    async def _made(self, index: Index, principal: str, *, by_upstream: bool) -> Mask:
        """Server by server: the rows are read here, where the database belongs, and judged in a thread. Upstreams are
        asked for here, because servers belong here, too."""
        mask = np.zeros(index.size, bool)
        for number, server in enumerate(index.servers):
            names = index.names[index.first[number] : index.first[number + 1]]
            decode = self._catalog.stored_functions(server)
            if by_upstream:
                allowed = await self._allowed_here(await off_loop(decode), principal)
            else:
                allowed = await off_loop(self._allowed, decode, principal)
            mask[index.first[number] : index.first[number + 1]] = [name in allowed for name in names]
        return mask

    def _allowed(self, decode: Callable[[], list[Function]], principal: str) -> set[str]:
        return {function.name for function in decode() if self._policy.allows(function, principal)}

    async def _allowed_here(self, functions: list[Function], principal: str) -> set[str]:
        allowed = set()
        for place, function in enumerate(functions):
            if self._policy.allows(function, principal):
                allowed.add(function.name)
            if place % _AT_ONCE == _AT_ONCE - 1:
                await anyio.lowlevel.checkpoint()
        return allowed
