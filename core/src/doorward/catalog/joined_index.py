"""The search index of a catalog, joined from the indexes of its servers when somebody first searches."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import anyio

from doorward.data.offload import off_loop

if TYPE_CHECKING:
    from doorward.search.index import Index


class Outdated(frozenset[str]):
    """The servers whose stored index another version of Doorward wrote: it is made anew from their functions."""


class JoinedIndex:
    """`read` reads what is stored, on the event loop, where its database belongs, and returns the work that makes an
    index of it, which needs no database; it is told whose stored index cannot be used."""

    def __init__(self, read: Callable[[Collection[str]], Callable[[], Index | Outdated]]) -> None:
        self._read = read
        self._index: Index | None = None
        self._age = 0
        self._joining = anyio.Lock()

    def __call__(self) -> Index:
        """The index, made now if need be."""
        if self._index is None:
            made = self._read(())()
            while isinstance(made, Outdated):
                made = self._read(made)()
            self._index = made
        return self._index

    async def wait(self) -> Index:
        """The index, made in a thread if need be, once for all who wait for it."""
        if self._index is not None:
            return self._index
        async with self._joining:
            if self._index is not None:
                return self._index
            age, made = self._age, await off_loop(self._read(()))
            while isinstance(made, Outdated):
                age, made = self._age, await off_loop(self._read(made))
            if age == self._age:  # else it was forgotten meanwhile: good enough for this search, not for later ones
                self._index = made
            return made

    def cache_clear(self) -> None:
        """Forget the index: a compile has changed what is stored."""
        self._index = None
        self._age += 1
