"""What authors of storage engines import besides `doorward`: for engines of the catalog or of artefacts.

`Gateway.open(stores=Stores(…))` uses an engine; the testing kit has a conformance class for each kind.
"""

from __future__ import annotations

from doorward.calls.artefact_store import ArtefactStore, StoredArtefact
from doorward.catalog.search.document import FIELDS, WEIGHTS
from doorward.catalog.store import (
    Broken,
    CatalogReader,
    CatalogStore,
    Contents,
    ObservationStore,
    Only,
    Row,
    SearchIndex,
    StoredEnhancement,
    StoredObservation,
)
from doorward.stores import Stores

__all__ = [
    "FIELDS",
    "WEIGHTS",
    "ArtefactStore",
    "Broken",
    "CatalogReader",
    "CatalogStore",
    "Contents",
    "ObservationStore",
    "Only",
    "Row",
    "SearchIndex",
    "StoredArtefact",
    "StoredEnhancement",
    "StoredObservation",
    "Stores",
]
