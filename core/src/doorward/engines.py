"""What authors of storage engines import besides `doorward`: for engines of the catalog, of artefacts, or of the
journals of runs; and by which such files are sealed.

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
from doorward.journal_files.given import Given
from doorward.journal_files.store import RunFile, RunStore, StoredRun
from doorward.secrets.sealing import Box, Sealing
from doorward.stores import Stores

__all__ = [
    "ArtefactStore",
    "Box",
    "Broken",
    "CatalogReader",
    "CatalogStore",
    "Contents",
    "Given",
    "ObservationStore",
    "Row",
    "RunFile",
    "RunStore",
    "Sealing",
    "StoredArtefact",
    "StoredEnhancement",
    "StoredObservation",
    "StoredRun",
    "Stores",
]
