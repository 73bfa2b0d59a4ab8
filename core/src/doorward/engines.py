"""What authors of storage engines import besides `doorward`: for engines of the catalog or of artefacts.

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
from doorward.stores import Stores

__all__ = [
    "ArtefactStore",
    "Broken",
    "CatalogReader",
    "CatalogStore",
    "Contents",
    "ObservationStore",
    "Row",
    "StoredArtefact",
    "StoredEnhancement",
    "StoredObservation",
    "Stores",
]
