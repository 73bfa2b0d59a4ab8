"""A catalog that ends with its process: where no engine is installed, and before anything was stored."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from doorward.catalog.store import CatalogReader, Contents, Row

_numbers = itertools.count(1)


class _Server:
    """A server's compile, with its functions by name and by original id."""

    def __init__(self, contents: Contents) -> None:
        self.definitions = dict(contents.definitions)
        self.contents = contents
        self.by_id = {id: row for row, id, _ in reversed([*contents.functions]) if id}
        self.by_name = {row.name: row for row, _, _ in contents.functions}


class MemoryReader:
    """A `CatalogReader`: what is stored, until it is removed. A change replaces a whole dictionary, so that a reader in
    another thread sees the old or the new."""

    def __init__(self, store: MemoryCatalog | None = None) -> None:
        self._store, self._number = store, next(_numbers)
        self.stored: dict[str, _Server] = {}
        self.compiles = 0

    @property
    def current(self) -> bool:
        return self._store is not None and self._store.open() is self

    def version(self) -> tuple[int, ...]:
        return self._number, self.compiles

    def discard(self, why: object) -> None:
        if self._store is not None and self.current:
            self._store.remove()

    def close(self) -> None: ...

    def servers(self) -> set[str]:
        return {*self.stored}

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        return [(name, each.contents.report) for name, each in sorted(self.stored.items()) if server in (None, name)]

    def settings(self) -> dict[str, str]:
        return {name: json.loads(report)["settings"] for name, report in self.reports()}

    def derived(self, name: str, server: str | None = None) -> list[tuple[str, bytes]]:
        found = [(of, each.contents.derived) for of, each in sorted(self.stored.items()) if server in (None, of)]
        return [(of, derived[name]) for of, derived in found if name in derived]

    def function(self, server: str, name: str) -> Row | None:
        of = self.stored.get(server)
        return (of.by_name.get(name) or of.by_id.get(name)) if of else None

    def functions(self, server: str) -> list[Row]:
        return [row for row, _, _ in self._functions(server)]

    def names(self, server: str, column: Literal["name", "original"], most: int | None) -> tuple[str, ...]:
        return tuple(row.name if column == "name" else id for row, id, _ in self._functions(server)[:most])

    def named(self, server: str) -> list[tuple[str, str, str]]:
        return [(row.name, id, json.loads(row.record).get("route") or "") for row, id, _ in self._functions(server)]

    def aliases(self, server: str) -> list[tuple[str, str]]:
        found = [(json.loads(row.record).get("aliases"), row.name) for row in self.functions(server)]
        return [(json.dumps(aliases), name) for aliases, name in found if aliases]

    def definition(self, server: str, name: str) -> str | None:
        of = self.stored.get(server)
        return of.definitions.get(name) if of else None

    def _functions(self, server: str) -> Sequence[tuple[Row, str, bool]]:
        of = self.stored.get(server)
        return of.contents.functions if of else ()


class MemoryCatalog:
    """A `CatalogStore` of one process."""

    where = "memory"

    def __init__(self) -> None:
        self._reader: MemoryReader | None = None
        self._turn = threading.RLock()
        self.writes = self._touched = 0

    def open(self, *, patient: bool = True) -> MemoryReader | None:
        return self._reader

    def as_it_was(self) -> None:
        return None

    def made(self) -> MemoryReader:
        with self._turn:
            if self._reader is None:
                self._reader = MemoryReader(self)
            return self._reader

    def touched(self) -> bool:
        before, self._touched = self._touched, self.writes
        return before != self._touched

    def check(self) -> None: ...

    def remove(self) -> list[str]:
        there, self._reader = self._reader, None
        return [self.where] if there else []

    def replace(self, contents: Contents) -> None:
        new = _Server(contents)
        with self._turn:
            self._change([contents.server], {contents.server: new})

    def replace_derived(self, server: str, name: str, content: bytes) -> None:
        with self._turn:
            reader = self.made()
            if of := reader.stored.get(server):
                derived = {**of.contents.derived, name: content}
                of.contents = replace(of.contents, derived=derived)
                self.writes += 1

    def drop(self, servers: Iterable[str]) -> None:
        with self._turn:
            self._change([*servers], {})

    def _change(self, servers: Sequence[str], new: Mapping[str, _Server]) -> None:
        """Put what is `new` in the place of these servers."""
        reader = self.made()
        reader.stored = {**{name: each for name, each in reader.stored.items() if name not in servers}, **new}
        reader.compiles += 1
        self.writes += 1


EMPTY_CATALOG: CatalogReader = MemoryReader()
"""The catalog before anything was stored."""
