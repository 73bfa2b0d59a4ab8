"""What authors of storage engines import, and whoever stores something; and by what files are sealed.

`Store` is the protocol of an engine, which the configuration names as `store`. The catalog has engines of its own, and
journals of runs may lie elsewhere, too: `Gateway.open(stores=Stores(…))` uses one of those. The testing kit has a
conformance class for each kind.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "catalog.store": "Broken CatalogReader CatalogStore Contents Row",
        "host.memory_store": "MemoryStore",
        "host.store_updates": "retry scan_all take_over update",
        "model.storage": (
            "Append Blob Change Conflict Delete DeleteBlob Forget Lease Named Notify Put PutBlob Record "
            "StaleLease Store require_once"
        ),
        "stores": "Stores catalog_in",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
