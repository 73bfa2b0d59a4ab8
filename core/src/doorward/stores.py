"""The stores of a gateway. No other module knows which engines keep them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from doorward.approvals.sqlite_approvals import SqliteApprovals
from doorward.approvals.store import ApprovalStore
from doorward.calls.artefact_store import ArtefactStore, MemoryArtefacts
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.catalog.store import CatalogStore
from doorward.journal_files.store import RunStore
from doorward.learning.lessons import LessonStore
from doorward.learning.sqlite_lessons import SqliteLessons
from doorward.secrets.store import Secret


@dataclass(frozen=True, slots=True)
class Stores:
    """The catalog, which includes observed result shapes, the artefacts, what is learned from use, which ends with the
    process if nothing keeps it, requests for approval: without a place for them, calls that need one are refused; and
    the journals of runs: in the state folder, if no other place is given. (The configured cache keeps programs.)"""

    catalog: CatalogStore
    artefacts: ArtefactStore
    lessons: LessonStore | None = None
    approvals: ApprovalStore | None = None
    runs: RunStore | None = None

    @classmethod
    def in_folder(cls, state: Path, key: Secret | None = None) -> Stores:
        """Files of the state folder, and artefacts in memory. `key` is the `vault_key`."""
        return cls(
            SqliteCatalog(state / "catalog.db"),
            MemoryArtefacts(),
            SqliteLessons(state / "learned.db"),
            SqliteApprovals(state / "approvals.db", key.reveal if key else None),
        )
