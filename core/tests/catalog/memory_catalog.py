"""A catalog in plain dictionaries: a second engine, so that the seam is one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal

from doorward.catalog.store import CatalogReader, Contents, Row, StoredObservation

Entry = tuple[Row, str, bool]
_numbers = count(1)


@dataclass
class State:
    """All that is kept; each writing makes another one."""

    servers: dict[str, Contents] = field(default_factory=dict)
    functions: dict[int, Entry] = field(default_factory=dict)
    definitions: dict[tuple[str, str], str] = field(default_factory=dict)
    seen: dict[tuple[str, str], StoredObservation] = field(default_factory=dict)
    compiles: int = 0


class Place:
    """Where the states of one catalog follow one another."""

    def __init__(self) -> None:
        self.number, self.state = next(_numbers), State()


class MemoryCatalog:
    """A `CatalogStore`."""

    where = "memory"

    def __init__(self) -> None:
        self.place: Place | None = None
        self.writes = self.read = 0

    def open(self, *, patient: bool = True) -> CatalogReader | None:
        return Reader(self, self.place) if self.place else None

    def as_it_was(self) -> CatalogReader | None:
        return None

    def made(self) -> CatalogReader:
        self.place = self.place or Place()
        return Reader(self, self.place)

    def touched(self) -> bool:
        before, self.read = self.read, self.writes
        return before != self.read

    def check(self) -> None: ...

    def remove(self) -> list[str]:
        there, self.place = self.place, None
        return ["memory"] if there else []

    def replace(self, contents: Contents, lasts: Callable[[str, str], bool]) -> None:
        state = without(self._state(), contents.server, lasts)
        first = max(state.functions, default=0) + 1
        self._commit(
            replace(
                state,
                servers=dict(sorted({**state.servers, contents.server: contents}.items())),
                functions={**state.functions, **dict(enumerate(contents.functions, first))},
                definitions={
                    **state.definitions,
                    **{(contents.server, name): text for name, text in contents.definitions},
                },
            )
        )

    def replace_derived(self, server: str, name: str, content: bytes) -> None:
        state = self._state()
        if kept := state.servers.get(server):
            derived = {**kept.derived, name: content}
            self._commit(replace(state, servers={**state.servers, server: replace(kept, derived=derived)}))

    def drop(self, servers: Iterable[str]) -> None:
        state = self._state()
        for server in servers:
            state = without(state, server, lambda name, digest: False)
        self._commit(state)

    def merge_observations(
        self, seen: Mapping[tuple[str, str], Callable[[StoredObservation | None], StoredObservation]]
    ) -> None:
        state = self._state()
        self._commit(
            replace(state, seen={**state.seen, **{this: merged(state.seen.get(this)) for this, merged in seen.items()}})
        )

    def _state(self) -> State:
        return self.place.state if self.place else State()

    def _commit(self, state: State) -> None:
        self.place = self.place or Place()
        self.place.state = state
        self.writes += 1


def without(state: State, server: str, lasts: Callable[[str, str], bool]) -> State:
    return State(
        {name: contents for name, contents in state.servers.items() if name != server},
        {number: entry for number, entry in state.functions.items() if entry[0].server != server},
        {this: text for this, text in state.definitions.items() if this[0] != server},
        {this: seen for this, seen in state.seen.items() if this[0] != server or lasts(this[1], seen.digest)},
        state.compiles + 1,
    )


class Reader:
    """A `CatalogReader`."""

    def __init__(self, store: MemoryCatalog, place: Place) -> None:
        self.store, self.place = store, place

    @property
    def current(self) -> bool:
        return self.store.place is self.place

    def version(self) -> tuple[int, ...]:
        return self.place.number, self.place.state.compiles

    def discard(self, why: object) -> None:
        if self.current:
            self.store.remove()

    def close(self) -> None: ...

    def servers(self) -> set[str]:
        return {*self.place.state.servers}

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        return [
            (name, contents.report) for name, contents in self.place.state.servers.items() if server in (None, name)
        ]

    def settings(self) -> dict[str, str]:
        return {name: json.loads(report)["settings"] for name, report in self.reports()}

    def derived(self, name: str, server: str | None = None) -> list[tuple[str, bytes]]:
        servers = self.place.state.servers
        return [(s, of.derived[name]) for s, of in servers.items() if name in of.derived and server in (None, s)]

    def of(self, server: str) -> list[Entry]:
        return [entry for entry in self.place.state.functions.values() if entry[0].server == server]

    def function(self, server: str, name: str) -> Row | None:
        by_name = [row for row, _, _ in self.of(server) if row.name == name]
        by_id = [row for row, original, _ in self.of(server) if name and original == name]
        return next(iter(by_name + by_id), None)

    def functions(self, server: str) -> list[Row]:
        return [row for row, _, _ in self.of(server)]

    def names(self, server: str, column: Literal["name", "original"], most: int | None) -> tuple[str, ...]:
        return tuple(row.name if column == "name" else original for row, original, _ in self.of(server))[:most]

    def named(self, server: str) -> list[tuple[str, str, str]]:
        return [(row.name, original, json.loads(row.record).get("route") or "") for row, original, _ in self.of(server)]

    def aliases(self, server: str) -> list[tuple[str, str]]:
        found = [(json.loads(row.record).get("aliases"), row.name) for row in self.functions(server)]
        return [(json.dumps(aliases), name) for aliases, name in found if aliases]

    def definition(self, server: str, name: str) -> str | None:
        return self.place.state.definitions.get((server, name))

    def observation(self, server: str, name: str) -> StoredObservation | None:
        return self.place.state.seen.get((server, name))
