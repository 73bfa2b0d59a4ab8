"""The catalog before anything was stored."""

from __future__ import annotations

from typing import Literal

from doorward.catalog.store import CatalogReader, Row, StoredObservation


class _EmptyCatalog:
    """A `CatalogReader` that finds nothing."""

    current = False

    def version(self) -> tuple[int, ...]:
        return ()

    def servers(self) -> set[str]:
        return set()

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        return []

    def derived(self, name: str, server: str | None = None) -> list[tuple[str, bytes]]:
        return []

    def settings(self) -> dict[str, str]:
        return {}

    def function(self, server: str, name: str) -> Row | None:
        return None

    def functions(self, server: str) -> list[Row]:
        return []

    def names(self, server: str, column: Literal["name", "original"], most: int | None) -> tuple[str, ...]:
        return ()

    def named(self, server: str) -> list[tuple[str, str, str]]:
        return []

    def aliases(self, server: str) -> list[tuple[str, str]]:
        return []

    def definition(self, server: str, name: str) -> str | None:
        return None

    def observation(self, server: str, name: str) -> StoredObservation | None:
        return None

    def discard(self, why: object) -> None: ...

    def close(self) -> None: ...


EMPTY_CATALOG: CatalogReader = _EmptyCatalog()
