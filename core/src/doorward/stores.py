"""Where a gateway keeps what it stores: the one place that knows which engines do it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from doorward.calls.artefact_store import ArtefactStore, MemoryArtefacts
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.catalog.store import CatalogStore


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, with what was seen of results, and artefacts. (Kept programs are with the configured cache.)"""

    catalog: CatalogStore
    artefacts: ArtefactStore

    @classmethod
    def in_folder(cls, state: Path) -> Stores:
        """The catalog in a file of the state folder, artefacts in memory."""
        return cls(SqliteCatalog(state / "catalog.db"), MemoryArtefacts())
