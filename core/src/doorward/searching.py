"""What authors of search engines import besides `doorward`: the protocol, what is searched, and words as Doorward reads
them.

A plugin gives its engine in `gateway_made`: `gateway.services.give(SEARCH, engine)`.
"""

from __future__ import annotations

from doorward.catalog.catalog import Catalog
from doorward.catalog.schemas import Definitions, Reader, closure, listed, strings, table, variants
from doorward.data.near_names import nearest
from doorward.data.offload import done, off_loop
from doorward.data.words import STOP_WORDS, Phrase, split_words, stem
from doorward.model.decisions import effect
from doorward.model.drivers import SearchView
from doorward.model.search import SEARCH, Allowed, Found, Given, Hit, Related, Search, SearchEngine

__all__ = [
    "SEARCH",
    "STOP_WORDS",
    "Allowed",
    "Catalog",
    "Definitions",
    "Found",
    "Given",
    "Hit",
    "Phrase",
    "Reader",
    "Related",
    "Search",
    "SearchEngine",
    "SearchView",
    "closure",
    "done",
    "effect",
    "listed",
    "nearest",
    "off_loop",
    "split_words",
    "stem",
    "strings",
    "table",
    "variants",
]
