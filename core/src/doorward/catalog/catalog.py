"""The stored functions of all servers: storing a compile, and looking up.

Opening it takes constant time: nothing is read before it is needed. Reading never waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic_core import from_json

from doorward.catalog.function_codec import Report, restored
from doorward.catalog.memory_catalog import EMPTY_CATALOG
from doorward.catalog.notes import Notes
from doorward.catalog.schemas import closure
from doorward.catalog.store import Broken, CatalogReader, CatalogStore
from doorward.catalog.texts import FunctionTexts
from doorward.catalog.writer import Derived, write
from doorward.data.json_writing import digest
from doorward.host.logs import log
from doorward.model.errors import DoorwardError, StateError
from doorward.model.functions import Compiled, Function, Schema
from doorward.model.names import Named

if TYPE_CHECKING:
    from doorward.model.integrity import Integrity

T = TypeVar("T")


class Cached(Protocol):
    """Something that was read."""

    def cache_clear(self) -> None:
        """Forget it: a compile has changed what is stored."""


class StoredCatalog(NamedTuple):
    """A stored catalog that can be read, and the last compile of each server in it."""

    reader: CatalogReader
    reports: Mapping[str, Report]


class Catalog:
    """The functions that are kept in a store. Readers see a compile of another process at once, and never wait for it.

    If the stored catalog is removed, the old one is read until a new one in its place has as much: `lost` says that a
    new one is needed, `there` makes it, and `turn_to` reads from it. With
    `integrity`, only what it vouches for is used."""

    def __init__(self, store: CatalogStore, integrity: Integrity | None = None) -> None:
        self._store = store
        self.integrity = integrity
        self.drop, self.check, self.touched = store.drop, store.check, store.touched
        self.derives, self.notes, self.texts = Derived(), Notes(), FunctionTexts()
        self._broken = self._has_stored = False
        try:
            self._opened = store.open() or EMPTY_CATALOG
        except StateError as error:  # programs that need no functions run all the same
            log.warning("catalog_not_read", why=str(error), hint=error.hint)
            self._opened = store.as_it_was() or EMPTY_CATALOG
        self._last: tuple[int, ...] = ()
        self.seen = self.version()
        """The version of which something may have been read."""
        self.report = lru_cache(4096)(self._report)
        self.function = lru_cache(4096)(self._function)
        self.definition = lru_cache(4096)(self._definition)
        self.names = lru_cache(256)(self._names)
        self.aliases = lru_cache(256)(self._aliases)
        self.first = lru_cache(1024)(self._first)
        self.schema_hash = lru_cache(4096)(self._schema_hash)
        self.caches: list[Cached] = [kept for kept in vars(self).values() if hasattr(kept, "cache_clear")]

    def close(self) -> None:
        self._opened.close()

    @property
    def _reader(self) -> CatalogReader:
        if self._opened is EMPTY_CATALOG:  # another process may have stored something since
            with contextlib.suppress(DoorwardError):  # what we have stored is waited for, if others are opening it
                self._opened = self._store.open(patient=self._has_stored) or EMPTY_CATALOG
        return self._opened

    @property
    def where(self) -> str:
        """For messages and logs."""
        return str(self._store.where)

    def store(
        self, server: str, compiled: Compiled, *, fingerprint: str, settings: str, ms: float,
        left_out: Mapping[str, Sequence[str]] = MappingProxyType({}), scrub: Callable[[str], str] = str,
    ) -> Report:  # fmt: skip
        """Replace everything of a server: a reader sees the old or the new, a kill leaves the old. For threads.

        Raises: StateError, ConfigError."""
        report = write(
            self._store, self.derives, self.notes, server, compiled, fingerprint=fingerprint, settings=settings, ms=ms,
            left_out=left_out, scrub=scrub, integrity=self.integrity,
        )  # fmt: skip
        self._has_stored = True
        return report

    def trusts(self, server: str) -> bool:
        """Whether what is stored of a server may be used."""
        return self.integrity is None or server in self.integrity

    def replace_derived(self, server: str, name: str, content: bytes) -> None:
        """What is derived of the functions of a server, found out anew. For threads. Raises: StateError."""
        self._store.replace_derived(server, name, content)

    # Which stored catalog is read

    @property
    def lost(self) -> bool:
        """Whether the catalog that is read is no longer the stored one, which was removed, replaced or broken."""
        return self._broken or not self._reader.current

    def there(self) -> StoredCatalog:
        """The catalog that is stored now, made anew if need be. For threads. Raises: StateError, ConfigError."""
        for _ in range(2):
            reader = self._store.made()
            try:
                return StoredCatalog(reader, _reports(reader.reports()))
            except (Broken, ValueError, TypeError, LookupError) as error:
                reader.close()
                reader.discard(error)
            except StateError:
                reader.close()
                raise
        raise StateError(f"{self.where}: cannot be made a catalog", hint="Is another program using that file?")

    def turn_to(self, there: StoredCatalog, servers: Collection[str]) -> bool:
        """Read from that catalog from now on, unless it lacks one of these servers that the present one has."""
        with contextlib.suppress(StateError):  # if the present one cannot be read, nothing is lost
            if not self._broken and any(name in servers and name not in there.reports for name in self.reports()):
                there.reader.close()
                return False
        self._opened.close()
        self._opened, self._broken = there.reader, False
        return True

    # Reading

    def version(self) -> tuple[int, ...]:
        """Changes with each compile, by whatever process, and when another file is read. Stays the same while the
        catalog cannot be read."""
        with contextlib.suppress(StateError):
            self._last = self._reader.version()
        return self._last

    def refresh(self) -> bool:
        """Forget what was read if a compile has changed it since. Returns: whether one has."""
        now = self.version()
        if now == self.seen:
            return False
        self.seen = now
        self.forget()
        return True

    def forget(self) -> None:
        """Forget what was read, and what others made of it."""
        for cached in self.caches:
            cached.cache_clear()

    def _read(self, make: Callable[..., T], *given: Any) -> T:
        """Decode a stored text. Raises: Broken if it is not one that was stored here."""
        try:
            return make(*given)
        except (ValueError, TypeError, LookupError):
            self._broken = True
            raise Broken(self.where) from None

    def reports(self) -> dict[str, Report]:
        """The last compile of each server."""
        return self._read(_reports, self._reader.reports())

    def _report(self, server: str) -> Report | None:
        """The last compile of one server."""
        return self._read(_reports, self._reader.reports(server)).get(server)

    def settings(self) -> dict[str, str]:
        """The `settings` of the last compile of each server."""
        return self._reader.settings()

    def _function(self, server: str, name: str) -> Function | None:
        row = self._reader.function(server, name)
        if not row and (meant := self.aliases(server).get(name)):
            return self.function(server, meant)
        if row and self.integrity is not None:
            self.integrity.check(server, ("function", row.name), row.record)
        return self._read(restored, *row) if row else None

    def _aliases(self, server: str) -> Mapping[str, str]:
        """The names of functions by their aliases."""
        return {
            alias: name for aliases, name in self._reader.aliases(server) for alias in self._read(from_json, aliases)
        }

    def reached(self, server: str, schema: Any) -> dict[str, Any]:
        """The definitions of a server to which a schema refers, and these to others, by name."""
        return closure(schema, lambda name: self.definition(server, name))

    def _schema_hash(self, server: str, name: str) -> str:
        """A hash of what a function's callers rely on: its schemas with all that they refer to. "" if there is none."""
        function = self.function(server, name)
        if function is None:
            return ""
        shapes = [function.parameters, function.returns]
        return digest(shapes, self.reached(server, shapes))

    def _definition(self, server: str, name: str) -> Schema | None:
        text = self._reader.definition(server, name)
        if text is not None and self.integrity is not None:
            self.integrity.check(server, ("definition", name), text)
        return self._read(from_json, text) if text is not None else None

    def _names(self, server: str, column: Literal["name", "original"] = "name") -> tuple[str, ...]:
        return self._reader.names(server, column, None)

    def _first(self, server: str, most: int) -> tuple[str, ...]:
        """The names of a server's first functions."""
        return self._reader.names(server, "name", most)

    def derived(self, name: str, server: str | None = None) -> dict[str, bytes]:
        """What was derived under this name of the functions of each server, or of one; see `derives`."""
        return dict(self._reader.derived(name, server))

    def functions(self, server: str) -> Iterable[Function]:
        """All functions of a server, in the order of its document."""
        for row in self._reader.functions(server):
            yield self._read(restored, *row)

    def named(self, server: str) -> Iterator[Named]:
        """The names of a server's functions, with the ids and routes that they were made from."""
        if self.integrity is not None:
            return iter(self.integrity.names(server))
        return (Named(*names) for names in self._reader.named(server))

    def stored_functions(self, server: str) -> Callable[[], list[Function]]:
        """Read all functions of a server, in the order of its document. Returns: what decodes them, for a thread."""
        rows = [*self._reader.functions(server)]
        return lambda: [self._read(restored, *row) for row in rows]

    def servers(self) -> set[str]:
        """The servers that have a compile."""
        return self._reader.servers()


def _reports(rows: Iterable[tuple[str, str]]) -> dict[str, Report]:
    return {name: Report(**from_json(report)) for name, report in rows}
