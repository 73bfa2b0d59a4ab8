# `make reference` writes this file.
from doorward.catalog.store import Broken as Broken
from doorward.catalog.store import CatalogReader as CatalogReader
from doorward.catalog.store import CatalogStore as CatalogStore
from doorward.catalog.store import Contents as Contents
from doorward.catalog.store import Row as Row
from doorward.host.memory_store import MemoryStore as MemoryStore
from doorward.host.store_updates import retry as retry
from doorward.host.store_updates import scan_all as scan_all
from doorward.host.store_updates import take_over as take_over
from doorward.host.store_updates import update as update
from doorward.model.storage import Append as Append
from doorward.model.storage import Blob as Blob
from doorward.model.storage import Change as Change
from doorward.model.storage import Conflict as Conflict
from doorward.model.storage import Delete as Delete
from doorward.model.storage import DeleteBlob as DeleteBlob
from doorward.model.storage import Forget as Forget
from doorward.model.storage import Lease as Lease
from doorward.model.storage import Named as Named
from doorward.model.storage import Notify as Notify
from doorward.model.storage import Put as Put
from doorward.model.storage import PutBlob as PutBlob
from doorward.model.storage import Record as Record
from doorward.model.storage import StaleLease as StaleLease
from doorward.model.storage import Store as Store
from doorward.model.storage import require_once as require_once
from doorward.stores import Stores as Stores
from doorward.stores import catalog_in as catalog_in

__all__ = [
    "Append",
    "Blob",
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
