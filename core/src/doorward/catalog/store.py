"""What an engine that keeps the catalog can do: SQLite's is in `sqlite_store`. It knows names, ids, words and texts,
and no more.

A function is kept as JSON text, its record; so is a server's report. Who reads does so from the event loop: an engine
that is reached over a network reads from a copy of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from doorward.data.words import Phrase
from doorward.model.errors import StateError


class Broken(StateError):
    """What is kept is no catalog."""

    def __init__(self, where: object) -> None:
        hint = (
            "A gateway that serves compiles it again by itself: try again in a moment. `doorward compile` does it, too."
        )
        super().__init__(f"{where}: the catalog is broken", hint=hint)


class Row(NamedTuple):
    """A function as it is kept."""

    server: str
    name: str
    record: str


class StoredObservation(NamedTuple):
    """What was seen of one function's results: the digest of the function then, a JSON text, how often, and when
    last."""

    digest: str
    shape: str
    times: int
    last: float


@dataclass(frozen=True, slots=True)
class Contents:
    """A server's compile as it is kept. Functions stand in the order of their document, each with its original id,
    whether it only reads, and what the search knows of it: the texts of `document.FIELDS`. `words` has in how many
    functions each word is."""

    server: str
    report: str
    words: str
    functions: Sequence[tuple[Row, str, bool, tuple[str, ...]]]
    definitions: Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Only:
    """Functions with all of these facts (`…*`: one that begins so) and, if they are given, one of those."""

    facts: tuple[str, ...] = ()
    one_of: tuple[str, ...] | None = None


class SearchIndex(Protocol):
    """Finds functions by the words in their `document.FIELDS`. Each has a number, as long as it is stored.

    A phrase is in fields if each of its words is in one of them. Raises: StateError."""

    def functions_of(self, servers: Collection[str]) -> frozenset[int]:
        """All of these servers."""

    def called(self, names: Collection[str]) -> set[int]:
        """Those whose name or original id is one of these."""

    def listed(self, only: Only, limit: int, offset: int) -> tuple[list[int], int]:
        """Some of them, in the order of servers and documents, and how many there are."""

    def having(self, fields: Sequence[str], phrases: Iterable[Phrase], only: Only) -> list[int]:
        """Those that have one of the phrases in these fields."""

    def ranked(self, fields: Sequence[str], phrases: Iterable[Phrase], only: Only, most: int | None) -> list[int]:
        """The same, the best first by BM25 with `document.WEIGHTS`; no more than `most`."""

    def count(self, fields: Sequence[str], phrases: Iterable[Phrase]) -> int:
        """How many have one."""

    def texts(self, functions: Sequence[int], fields: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
        """What these fields of each hold."""

    def rows(self, functions: Iterable[int]) -> list[Row]:
        """Those that are still stored, in this order."""


class CatalogReader(SearchIndex, Protocol):
    """The catalog, open for reading. It sees each compile as soon as it is whole, and waits for nobody.

    Raises: StateError, `Broken` if what is there cannot be read."""

    @property
    def current(self) -> bool:
        """Whether this is what is kept there now: it was not removed or replaced, and is not broken."""

    def version(self) -> tuple[int, ...]:
        """Another one after each compile, by whatever process, and for another catalog."""

    def servers(self) -> set[str]:
        """Those that have a compile."""

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        """The reports by server, in their order; of all or of one."""

    def settings(self) -> dict[str, str]:
        """The `settings` of each report."""

    def words(self, servers: Collection[str]) -> list[tuple[int, str]]:
        """Of each of these servers the `functions` of its report, and its `Contents.words`."""

    def function(self, server: str, name: str) -> Row | None:
        """By its name, or else by its original id."""

    def functions(self, server: str) -> Iterable[Row]:
        """All of a server, in the order of its document."""

    def names(self, server: str, column: Literal["name", "original"], most: int | None) -> tuple[str, ...]:
        """Of its functions in that order, of all or of the first."""

    def named(self, server: str) -> list[tuple[str, str, str]]:
        """Name, original id and the record's `route`, in that order."""

    def aliases(self, server: str) -> list[tuple[str, str]]:
        """The record's `aliases`, a JSON list, and the name of each function that has some."""

    def definition(self, server: str, name: str) -> str | None:
        """A schema, as JSON, that others refer to."""

    def observation(self, server: str, name: str) -> StoredObservation | None:
        """What was seen of a function's results."""

    def discard(self, why: object) -> None:
        """Put it aside, if it is still there: it is of no use. For threads. Raises: StateError, ConfigError."""

    def close(self) -> None: ...


class CatalogStore(Protocol):
    """Where the catalog is kept. All but `open` and `touched` may wait, so it is for threads; and it raises StateError,
    ConfigError."""

    @property
    def where(self) -> Path | str:
        """For messages and logs."""

    def open(self, *, patient: bool = True) -> CatalogReader | None:
        """What is kept; `None` if there is nothing yet. It is made by who writes first."""

    def as_it_was(self) -> CatalogReader | None:
        """What can be read while `open` fails."""

    def made(self) -> CatalogReader:
        """What is kept, made anew if it is missing or broken."""

    def touched(self) -> bool:
        """Whether somebody has written to it since this was asked last, in whatever way."""

    def check(self) -> None:
        """Look at all of it; put it aside if it is broken."""

    def replace(self, contents: Contents, lasts: Callable[[str, str], bool]) -> None:
        """Replace everything of a server in one transaction: who reads sees the old or the new, a kill leaves the old.
        Of its shapes those stay of which `lasts` says so, by the function's name and digest."""

    def drop(self, servers: Iterable[str]) -> None:
        """Forget servers, their shapes too, in one transaction."""

    def merge_observations(
        self, seen: Mapping[tuple[str, str], Callable[[StoredObservation | None], StoredObservation]]
    ) -> None:
        """Replace what was seen of functions, by server and name, by what is made of it as it is then, in one
        transaction. Nothing is made anew for this."""

    def remove(self) -> list[str]:
        """Remove all of it. Returns: what was there."""


class ObservationStore(Protocol):
    """Where what was seen of results is kept: `Catalog` is one."""

    def observation(self, server: str, name: str) -> StoredObservation | None:
        """As `CatalogReader.observation`."""

    def merge_observations(
        self, seen: Mapping[tuple[str, str], Callable[[StoredObservation | None], StoredObservation]]
    ) -> None:
        """As `CatalogStore.merge_observations`."""
