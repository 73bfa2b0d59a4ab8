"""For tests and measurements: a catalog that is searched without a gateway, and conformance tests of engines that keep
what is learned from use. They need pytest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import Function
from doorward.engines import CatalogStore
from doorward.searching import Catalog

from doorward_search.derived import GRAPH, SEGMENT, graph_of, segment_of
from doorward_search.engine import Engine
from doorward_search.graph.graphs import Graphs
from doorward_search.joined_index import JoinedIndex
from doorward_search.learning.lessons import Amount, Lesson, LessonStore

NOW = 1_800_000_000.0
WORD, WITH = Lesson("word", "order", "shop.list_orders"), Lesson("with", "shop.list_orders", "shop.ship")


class SearchedCatalog(Catalog):
    """A catalog with the index of its functions, without what is learned, and without views."""

    def __init__(self, store: CatalogStore) -> None:
        super().__init__(store)
        self.derives.add(SEGMENT, segment_of)
        self.derives.add(GRAPH, graph_of)
        self.index, self.graphs = JoinedIndex(self), Graphs(self)
        nothing: Any = None
        self.engine = Engine(self, self.index, self.graphs, nothing, nothing)

    def search(self, query: str, **asked: Any) -> tuple[list[Function], int]:
        """See `Engine.among`."""
        return self.engine.among(query, **asked)


class LessonStoreConformance:
    """For engines that keep lessons. Override `store`: one of the same place each time, empty in a new folder."""

    def store(self, folder: Path) -> LessonStore:
        raise NotImplementedError

    def test_what_is_added_is_there(self, tmp_path: Path) -> None:
        """Lessons are those of one principal. Counts add up; a word has lost half after 30 days."""
        store = self.store(tmp_path)
        assert (store.version(), store.of("alice"), list(store.everything())) == (None, [], [])
        store.add({("alice", WITH): Amount(1, NOW), ("alice", WORD): Amount(1, NOW)}, NOW)
        later = NOW + 30 * 86400
        store.add({("alice", WITH): Amount(2, later), ("alice", WORD): Amount(2, later)}, later)
        found = dict(store.of("alice"))
        assert found[WITH] == Amount(3, later)
        assert found[WORD].times == pytest.approx(2.5)
        assert store.of("bob") == []
        store.close()

    def test_changes_are_noticed(self, tmp_path: Path) -> None:
        """A reader sees what another has added, and can tell that it has to look."""
        one, other = self.store(tmp_path), self.store(tmp_path)
        one.add({("alice", WITH): Amount(1, NOW)}, NOW)
        before = other.version()
        assert len(other.of("alice")) == 1
        assert one.add({("alice", WORD): Amount(1, NOW)}, NOW) == before
        assert other.version() != before
        assert len(other.of("alice")) == 2
        one.close()
        other.close()

    def test_lessons_are_forgotten(self, tmp_path: Path) -> None:
        """Those of one principal or all, when that is asked for; and what nothing has confirmed for 180 days."""
        store = self.store(tmp_path)
        store.add({(who, WITH): Amount(1, NOW) for who in ("alice", "bob", "carol")}, NOW)
        assert store.clear("alice") == 1
        assert [who for who, _, _ in store.everything()] == ["bob", "carol"]
        later = NOW + 181 * 86400
        store.add({("bob", WORD): Amount(1, later)}, later)
        assert list(store.everything()) == [("bob", WORD, Amount(1, later))]
        assert store.clear() == 1
        assert (list(store.everything()), store.clear()) == ([], 0)
        store.close()
