"""The catalog before anything was stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from doorward.catalog.store import CatalogReader, Only, Row, StoredEnhancement, StoredObservation
from doorward.data.words import Phrase


class _EmptyCatalog:
    """A `CatalogReader` that finds nothing."""

    current = False

    def version(self) -> tuple[int, ...]:
        return ()

    def servers(self) -> set[str]:
        return set()

    def reports(self, server: str | None = None) -> list[tuple[str, str]]:
        return []

    def settings(self) -> dict[str, str]:
        return {}

    def words(self, servers: Collection[str]) -> list[tuple[int, str]]:
        return []

    def function(self, server: str, name: str) -> Row | None:
        return None

    def functions(self, server: str) -> list[Row]:
        return []

    def rows(self, functions: Iterable[int]) -> list[Row]:
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

    def enhancements(self, server: str, name: str | None = None) -> list[tuple[str, StoredEnhancement]]:
        return []

    def functions_of(self, servers: Collection[str]) -> frozenset[int]:
        return frozenset()

    def called(self, names: Collection[str]) -> set[int]:
        return set()

    def listed(self, only: Only, limit: int, offset: int) -> tuple[list[int], int]:
        return [], 0

    def having(self, fields: Sequence[str], phrases: Iterable[Phrase], only: Only) -> list[int]:
        return []

    def ranked(self, fields: Sequence[str], phrases: Iterable[Phrase], only: Only, most: int | None) -> list[int]:
        return []

    def count(self, fields: Sequence[str], phrases: Iterable[Phrase]) -> int:
        return 0

    def texts(self, functions: Sequence[int], fields: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
        return []

    def discard(self, why: object) -> None: ...

    def close(self) -> None: ...


EMPTY_CATALOG: CatalogReader = _EmptyCatalog()
