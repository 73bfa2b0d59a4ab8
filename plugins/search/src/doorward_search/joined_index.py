"""The search index of a catalog, joined from those of its servers when somebody first searches."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

import anyio
from doorward.administration import run_in_thread
from doorward.texts import closure

from doorward_search.derived import SEGMENT

if TYPE_CHECKING:
    from doorward.searching import Catalog

    from doorward_search.index import Index


class Outdated(frozenset[str]):
    """The servers whose stored index is of no use, as one that another version wrote: it is made anew from their
    functions."""


class JoinedIndex:
    """What is stored is read on the event loop, where its database belongs; a thread makes an index of it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._index: Index | None = None
        self._age = 0
        self._joining = anyio.Lock()
        catalog.caches.append(self)

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
            age, made = self._age, await run_in_thread(self._read(()))
            while isinstance(made, Outdated):
                age, made = self._age, await run_in_thread(self._read(made))
            if age == self._age:  # else it was forgotten meanwhile: good enough for this search, not for later ones
                self._index = made
            return made

    def cache_clear(self) -> None:
        """Forget the index: a compile has changed what is stored."""
        self._index = None
        self._age += 1

    def _read(self, outdated: Collection[str]) -> Callable[[], Index | Outdated]:
        """Read the indexes of all servers, and the functions of those without a good one. Returns: what joins them."""
        catalog = self._catalog
        stored = {name: raw for name, raw in catalog.derived(SEGMENT).items() if name not in outdated}
        missing = {}
        for name in catalog.servers().difference(stored):
            functions = [*catalog.functions(name)]
            returned = [function.returns for function in functions]
            missing[name] = functions, closure(returned, partial(catalog.definition, name))
        questions: dict[str, dict[str, list[str]]] = {}
        for server, name, words in catalog.notes.words():
            questions.setdefault(server, {})[name] = [*words]

        def join() -> Index | Outdated:
            from doorward_search.index import Index  # numpy takes a tenth of a second: not when a gateway starts
            from doorward_search.result_words import ResultWords
            from doorward_search.segment import segment, unpacked

            kept = {name: unpacked(raw) for name, raw in stored.items()}
            segments = {name: part for name, part in kept.items() if part}
            if len(segments) < len(kept):
                return Outdated(kept.keys() - segments.keys())
            made = {name: segment(each, ResultWords(known.get)) for name, (each, known) in missing.items()}
            return Index(segments | made, questions)

        return join
