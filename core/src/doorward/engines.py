"""What who writes an engine for what is kept imports, besides `doorward` itself: one for the catalog, or for artefacts.

`Gateway.open(stores=Stores(…))` puts engines to use; the testing kit has a conformance class for each.
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
    "StoredObservation",
    "Stores",
]
