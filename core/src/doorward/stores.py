"""The stores of a gateway. No other module knows which engines keep them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from doorward.calls.artefact_store import ArtefactStore, MemoryArtefacts
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.catalog.store import CatalogStore


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, which includes observed result shapes, and the artefacts. (The configured cache keeps programs.)"""

    catalog: CatalogStore
    artefacts: ArtefactStore

    @classmethod
    def in_folder(cls, state: Path) -> Stores:
        """A catalog in a file of the state folder, and artefacts in memory."""
        return cls(SqliteCatalog(state / "catalog.db"), MemoryArtefacts())
