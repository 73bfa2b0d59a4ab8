"""The stores of a gateway. No other module knows which engines keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doorward.calls.artefact_store import ArtefactStore, MemoryArtefacts
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.catalog.store import CatalogStore


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, which includes observed result shapes, the artefacts, and `more` places, by names under which
    plugins look for them. (The configured cache keeps programs.)"""

    catalog: CatalogStore
    artefacts: ArtefactStore
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def in_folder(cls, state: Path) -> Stores:
        """Files of the state folder, and artefacts in memory."""
        return cls(
            SqliteCatalog(state / "catalog.db"),
            MemoryArtefacts(),
        )
