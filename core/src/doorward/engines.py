"""What authors of storage engines import, and whoever stores something; and by what files are sealed.

`Store` is the protocol of an engine, which the configuration names as `store`. What is not stored by it yet has engines
of its own: the catalog, and the journals of runs; `Gateway.open(stores=Stores(…))` uses one of those. The
testing kit has a conformance class for each kind.
"""

from __future__ import annotations

from doorward.catalog.store import (
    Broken,
    CatalogReader,
    CatalogStore,
    Contents,
    Row,
)
from doorward.host.memory_store import MemoryStore
from doorward.host.store_updates import retry, scan_all, take_over, update
from doorward.model.storage import (
    Append,
    Blob,
    Change,
    Conflict,
    Delete,
    DeleteBlob,
    Forget,
    Lease,
    Named,
    Notify,
    Put,
    PutBlob,
    Record,
    StaleLease,
    Store,
    require_once,
)
from doorward.secrets.sealing import Box, Sealing
from doorward.stores import Stores, catalog_in

__all__ = [
    "Append",
    "Blob",
    "Box",
    "Broken",
    "CatalogReader",
    "CatalogStore",
    "Change",
    "Conflict",
    "Contents",
    "Delete",
    "DeleteBlob",
    "Forget",
    "Lease",
    "MemoryStore",
    "Named",
    "Notify",
    "Put",
    "PutBlob",
    "Record",
    "Row",
    "Sealing",
    "StaleLease",
    "Store",
    "Stores",
    "catalog_in",
    "require_once",
    "retry",
    "scan_all",
    "take_over",
    "update",
]
