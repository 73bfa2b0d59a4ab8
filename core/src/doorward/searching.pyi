# `make reference` writes this file.
from doorward.catalog.catalog import Catalog as Catalog
from doorward.catalog.schemas import Definitions as Definitions
from doorward.catalog.schemas import Reader as Reader
from doorward.catalog.schemas import closure as closure
from doorward.catalog.schemas import listed as listed
from doorward.catalog.schemas import strings as strings
from doorward.catalog.schemas import table as table
from doorward.catalog.schemas import variants as variants
from doorward.data.offload import done as done
from doorward.data.offload import off_loop as off_loop
from doorward.data.words import Phrase as Phrase
from doorward.data.words import STOP_WORDS as STOP_WORDS
from doorward.data.words import nearest as nearest
from doorward.data.words import split_words as split_words
from doorward.data.words import stem as stem
from doorward.model.calls import effect as effect
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
    "Definitions",
    "Found",
    "Given",
    "Hit",
    "Phrase",
    "Reader",
    "Related",
    "SEARCH",
    "STOP_WORDS",
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
