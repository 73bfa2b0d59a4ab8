"""Each mistake in a search engine fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest

from .conftest import Failures, Told

pytestmark = pytest.mark.slow

GOOD = """
from doorward import hookimpl
from doorward.searching import SEARCH, Found, Hit, SearchEngine
from doorward.values import effect
from doorward_testing import SearchEngineConformance


class Names(SearchEngine):
    def __init__(self, catalog):
        self.catalog = catalog

    async def find(self, search):
        found = []
        for server in search.servers:
            names = search.allowed[server].called() if search.allowed else self.catalog.names(server)
            for name in names:
                asked = [query.rpartition(".")[2] for query in search.queries]
                answers = [number for number, query in enumerate(asked, 1) if query in ("", name)]
                function = self.catalog.function(server, name)
                if answers and search.read_only in (None, effect(function) == "read"):
                    found.append(Hit(function, answers))
        return Found(found[search.offset :][: search.limit], len(found), len(found))


class Plugin:
    def __init__(self, context):
        pass

    @hookimpl
    def gateway_made(self, gateway):
        gateway.services.give(SEARCH, Names(gateway.catalog))


class TestNames(SearchEngineConformance):
    plugin = Plugin
"""

MISTAKES = {
    "no engine": (("        gateway.services.give(SEARCH, Names(gateway.catalog))", "        pass"), "test_what_is_called_so_is_found", "it gave no engine"),
    "no class of ours": (("class Names(SearchEngine)", "class Names"), "test_what_is_called_so_is_found", "does not inherit from doorward.searching.SearchEngine"),
    "policy": (("search.allowed[server].called() if search.allowed else ", ""), "test_nobody_finds_what_they_may_not_call", "see `Search.allowed`"),
    "names": (('query in ("", name)', 'query == ""'), "test_what_is_called_so_is_found", "not weather.get_forecast"),
    "all": (('query in ("", name)', "query == name"), "test_what_is_called_so_is_found", "an empty question found []"),
    "read only": (("search.read_only in (None, effect(function) == \"read\")", "True"), "test_filters_and_pages", "with read_only="),
    "pages": (("found[search.offset :][: search.limit]", "found[: search.limit]"), "test_filters_and_pages", "pages of three are"),
    "limit": (("[: search.limit]", ""), "test_filters_and_pages", "were asked for"),
    "numbers": (("enumerate(asked, 1)", "enumerate(asked)"), "test_filters_and_pages", "from 1"),
    "raises": (("        found = []\n", "        found = [search.queries[0].encode()][:0]\n"), "test_any_question_has_an_answer", "raised UnicodeEncodeError"),
}  # fmt: skip


def test_a_good_one_passes(failures: Failures) -> None:
    """An engine without mistakes has no failure."""
    assert failures(GOOD) == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """By the test that is about it."""
    change, test, sentence = MISTAKES[mistake]
    told(GOOD, change, test, sentence)
