"""The stores of a gateway. No other module knows which engines keep them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from doorward.calls.artefact_store import ArtefactStore, MemoryArtefacts
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.catalog.store import CatalogStore
from doorward.journal_files.store import RunStore
from doorward.learning.lessons import LessonStore
from doorward.learning.sqlite_lessons import SqliteLessons


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, which includes observed result shapes, the artefacts, what is learned from use, which ends with the
    process if nothing keeps it, and the journals of runs: in the state folder, if no other place is given. (The
    configured cache keeps programs.)"""

    catalog: CatalogStore
    artefacts: ArtefactStore
    lessons: LessonStore | None = None
    runs: RunStore | None = None

    @classmethod
    def in_folder(cls, state: Path) -> Stores:
        """Files of the state folder, and artefacts in memory."""
        return cls(
            SqliteCatalog(state / "catalog.db"),
            MemoryArtefacts(),
            SqliteLessons(state / "learned.db"),
        )
