"""The protocols of an engine that keeps the catalog: an entry point `doorward.catalog` names the class, which is made
with a path in the state folder. An engine knows names, ids and texts, and no more: what plugins derive of functions is
bytes to it.

Each function is kept as JSON text, its record; so is each server's report. Reading happens in the event loop, so an
engine that is reached over a network must read from a local copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from doorward.model.errors import StateError


class Broken(StateError):
    """What is stored is not a catalog."""

    def __init__(self, where: object) -> None:
        hint = (
            "A gateway that serves compiles it again by itself: try again in a moment. `doorward compile` does it, too."
        )
        super().__init__(f"{where}: the catalog is broken", hint=hint)


class Row(NamedTuple):
    """A function as it is stored."""

    server: str
    name: str
    record: str


@dataclass(frozen=True, slots=True)
class Contents:
    """A server's compile as it is stored. Functions are in the order of their document, each with its original id and
    whether it only reads. `derived` are bytes by name that plugins make of the functions."""

    server: str
    report: str
    derived: Mapping[str, bytes]
    functions: Sequence[tuple[Row, str, bool]]
    definitions: Iterable[tuple[str, str]]


class CatalogReader(Protocol):
    """The catalog, open for reading. It sees each compile as soon as it is complete, and never waits for one.

    Raises: StateError, `Broken` if what is there cannot be read."""

    @property
    def current(self) -> bool:
        """Whether this is still the stored catalog: it was not removed or replaced, and is not broken."""

    def version(self) -> tuple[int, ...]:
        """Changes with each compile, by whatever process, and differs between catalogs."""

    def servers(self) -> set[str]:
        """The servers that have a compile."""

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        """The names and reports of all servers, ordered by name, or of one."""

    def settings(self) -> dict[str, str]:
        """The `settings` of each report."""

    def derived(self, name: str, server: str | None = None) -> list[tuple[str, bytes]]:
        """What has this name in `Contents.derived` of all servers, ordered by their names, or of one: server, bytes."""

    def function(self, server: str, name: str) -> Row | None:
        """A function by its name, or else by its original id."""

    def functions(self, server: str) -> Iterable[Row]:
        """All functions of a server, in the order of its document."""

    def names(self, server: str, column: Literal["name", "original"], most: int | None) -> tuple[str, ...]:
        """The names or original ids of a server's functions, in the order of its document; of all, or of the first."""

    def named(self, server: str) -> list[tuple[str, str, str]]:
        """The name, original id and `route` of each function of a server, in the order of its document."""

    def aliases(self, server: str) -> list[tuple[str, str]]:
        """The `aliases`, as a JSON list, and the name of each function that has aliases."""

    def definition(self, server: str, name: str) -> str | None:
        """A definition as JSON, to which schemas refer."""

    def discard(self, why: object) -> None:
        """Put this useless catalog aside, if it is still stored. For threads. Raises: StateError, ConfigError."""

    def close(self) -> None: ...


class CatalogStore(Protocol):
    """Where the catalog is stored. All methods but `open` and `touched` may wait, so they are for threads.

    Raises: StateError, ConfigError."""

    @property
    def where(self) -> Path | str:
        """For messages and logs."""

    def open(self, *, patient: bool = True) -> CatalogReader | None:
        """The stored catalog; `None` if there is none yet. The first write makes it."""

    def as_it_was(self) -> CatalogReader | None:
        """The catalog that can be read although `open` fails; `None` if there is none."""

    def made(self) -> CatalogReader:
        """The stored catalog, made anew if it is missing or broken."""

    def touched(self) -> bool:
        """Whether anything has written to it since the last time this was asked."""

    def check(self) -> None:
        """Check all of it, and put it aside if it is broken."""

    def replace(self, contents: Contents) -> None:
        """Replace everything of a server in one transaction: readers see the old or the new, a kill leaves the old."""

    def replace_derived(self, server: str, name: str, content: bytes) -> None:
        """Put this in the place of what has this name in `Contents.derived` of a server, if the server is there. No
        catalog is made anew for this, and readers need not see it before the next compile."""

    def drop(self, servers: Iterable[str]) -> None:
        """Forget servers, in one transaction."""

    def remove(self) -> list[str]:
        """Remove all of it. Returns: what was removed."""
