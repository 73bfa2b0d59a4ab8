"""What authors of storage engines import besides `doorward`: for engines of the catalog, of artefacts, or of what is
learned from use.

`Gateway.open(stores=Stores(…))` uses an engine; the testing kit has a conformance class for each kind.
"""

from __future__ import annotations

from doorward.calls.artefact_store import ArtefactStore, StoredArtefact
from doorward.catalog.store import (
    Broken,
    CatalogReader,
    CatalogStore,
    Contents,
    ObservationStore,
    Row,
    StoredEnhancement,
    StoredObservation,
)
from doorward.learning.lessons import Amount, Lesson, LessonStore
from doorward.stores import Stores

__all__ = [
    "Amount",
    "ArtefactStore",
    "Broken",
    "CatalogReader",
    "CatalogStore",
    "Contents",
    "Lesson",
    "LessonStore",
    "ObservationStore",
    "Row",
    "StoredArtefact",
    "StoredEnhancement",
    "StoredObservation",
    "Stores",
]
