"""The search is a search engine like that of anybody else."""

from __future__ import annotations

from doorward_search import Search
from doorward_testing import SearchEngineConformance


class TestSearch(SearchEngineConformance):
    plugin = Search
