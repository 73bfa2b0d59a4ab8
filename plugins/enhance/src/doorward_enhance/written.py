"""What models wrote about functions, as it is stored: each with a hash of what was documented, in the store of the
gateway, and read into memory as a whole, because it stands on cards that wait for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import Function, Service
from doorward.administration import as_json, json_digest, stems
from doorward.engines import Change, Delete, Notify, Put, Store, take_over
from doorward.searching import Catalog
from doorward.texts import closure

if TYPE_CHECKING:
    from doorward_enhance.enhancement import Enhancement

TABLE = TOPIC = "enhancements"

MAX_WORDS = 80
"""Words by which a function is found besides those of its document."""

_FORMER = "SELECT server, name, documented, record, words, waits FROM enhancements"
"""What earlier versions stored in the catalog."""

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Stored:
    """What a model wrote about one function: the hash of what was documented at that time, the enhancement as JSON, the
    stems by which the function is found, and whether it waits for a person's yes. Nobody is shown what waits."""

    documented: str
    record: str
    words: str
    waits: bool

    def enhancement(self) -> Enhancement:
        """What a model wrote."""
        from doorward_enhance.enhancement import Enhancement

        return Enhancement(**json.loads(self.record))


def documented(function: Function, catalog: Catalog) -> str:
    """A hash of all that is documented of a function: if it changes, what was added says nothing any more."""
    schemas = [function.parameters, function.returns]
    texts = [function.id, function.route, function.summary, function.description, function.read_only]
    return json_digest(texts, schemas, closure(schemas, partial(catalog.definition, function.server)))


def stored(enhancement: Enhancement, documented: str, *, waits: bool, scrub: Callable[[str], str]) -> Stored:
    """An enhancement as it is stored, without secrets."""
    record = scrub(as_json(asdict(enhancement)))
    found = json.loads(record)
    words = " ".join(stems(" ".join([*found["questions"], found["summary"]]), MAX_WORDS))
    return Stored(documented, record, words, waits)


class Written:
    """All that is stored, by server and name of the function."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._all: dict[str, dict[str, Stored]] = {}
        self._seen = -1

    def of(self, server: str) -> Mapping[str, Stored]:
        """What was written about the functions of a server, whether it still holds or not."""
        return self._all.get(server, {})

    def servers(self) -> Iterable[str]:
        """The servers about whose functions anything was written."""
        return [*self._all]

    async def read(self, state: Path) -> None:
        """Read all of it, and take over what an earlier version stored in the catalog of a state folder. Raises:
        StateError."""
        await take_over(self.store, state / "catalog.db", _FORMER, _taken_over, whose="enhance")
        await self.refresh()

    async def refresh(self) -> bool:
        """Read it again if another process has changed it. Returns: whether one has. Raises: StateError."""
        seen = await self.store.signal(TOPIC)
        if seen == self._seen:
            return False
        found: dict[str, dict[str, Stored]] = {}
        after: str | None = None
        while page := await self.store.scan(TABLE, after=after, limit=_PAGE):
            for record in page:
                server, _, name = record.key.partition(".")
                found.setdefault(server, {})[name] = Stored(**json.loads(record.value))
            after = page[-1].key
        self._all, self._seen = found, seen
        return True

    async def change(self, server: str, given: Mapping[str, Stored | None]) -> None:
        """Store this in the place of what was written about these functions; `None` is nothing. Raises: StateError."""
        changes = [_change(server, name, each) for name, each in given.items()]
        await self.store.commit(*changes, Notify(TOPIC))
        kept = self._all.setdefault(server, {})
        for name, each in given.items():
            if each is None:
                kept.pop(name, None)
            else:
                kept[name] = each

    async def forget_outdated(self, server: str, catalog: Catalog) -> None:
        """Forget what was written about functions that are documented differently now. What is left out for a while
        keeps its text. Raises: StateError."""
        gone = [
            name
            for name, each in self.of(server).items()
            if (function := catalog.function(server, name)) and documented(function, catalog) != each.documented
        ]
        if gone:
            await self.change(server, dict.fromkeys(gone))


WRITTEN = Service[Written]("documentation by a model", "doorward-enhance")


def _change(server: str, name: str, each: Stored | None) -> Change:
    key = f"{server}.{name}"
    return Delete(TABLE, key) if each is None else Put(TABLE, key, as_json(asdict(each)).encode())


def _taken_over(rows: Sequence[Any]) -> Sequence[Change]:
    return [
        _change(server, name, Stored(documented, record, words, bool(waits)))
        for server, name, documented, record, words, waits in rows
    ]
