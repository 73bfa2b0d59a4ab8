"""What authors of search engines import besides `doorward`: the protocol, what is searched, and words as Doorward reads
them.

A plugin gives its engine in `gateway_made`: `gateway.services.give(SEARCH, engine)`.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "catalog.catalog": "Catalog",
        "data.words": "STOP_WORDS Phrase split_words stem",
        "model.drivers": "SearchView",
        "model.search": "SEARCH Allowed Found Given Hit Related Search SearchEngine",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
