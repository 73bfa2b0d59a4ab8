# `make reference` writes this file.
from doorward.catalog.catalog import Catalog as Catalog
from doorward.data.words import Phrase as Phrase
from doorward.data.words import STOP_WORDS as STOP_WORDS
from doorward.data.words import split_words as split_words
from doorward.data.words import stem as stem
from doorward.model.drivers import SearchView as SearchView
from doorward.model.search import Allowed as Allowed
from doorward.model.search import Found as Found
from doorward.model.search import Given as Given
from doorward.model.search import Hit as Hit
from doorward.model.search import Related as Related
from doorward.model.search import SEARCH as SEARCH
from doorward.model.search import Search as Search
from doorward.model.search import SearchEngine as SearchEngine

__all__ = [
    "Allowed",
    "Catalog",
    "Found",
    "Given",
    "Hit",
    "Phrase",
    "Related",
    "SEARCH",
    "STOP_WORDS",
    "Search",
    "SearchEngine",
    "SearchView",
    "split_words",
    "stem",
]
