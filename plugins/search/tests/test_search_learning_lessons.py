"""How lessons are kept: by any number of processes, bounded, and gone when they are cleared."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from doorward import StateError
from doorward.files import SqliteFile
from doorward_search.graph.producers import Edge
from doorward_search.learning import sqlite_lessons
from doorward_search.learning.known import Known
from doorward_search.learning.learned_edges import with_learned
from doorward_search.learning.lessons import (
    FLOW,
    FORGOTTEN_SECONDS,
    HALF_LIFE_SECONDS,
    WITH,
    WORD,
    Amount,
    Lesson,
    LessonStore,
    more,
)
from doorward_search.learning.recent_searches import MAX_SEARCHES, RecentSearches
from doorward_search.learning.sqlite_lessons import LAYOUT, SqliteLessons
from doorward_search.testing import LessonStoreConformance

NOW = 1_800_000_000.0


class TestSqlite(LessonStoreConformance):
    def store(self, folder: Path) -> LessonStore:
        return SqliteLessons(folder / "learned.db")


ADDING = f"""
import sys
from pathlib import Path
from doorward_search.learning.lessons import Amount, Lesson
from doorward_search.learning.sqlite_lessons import SqliteLessons
store = SqliteLessons(Path(sys.argv[1]))
for n in range(30):
    store.add({{("local", Lesson("with", "s.a", "s.b")): Amount(1, {NOW} + n)}}, {NOW})
"""


def add(path: Path) -> None:
    SqliteLessons(path).add({("local", Lesson(WITH, "s.a", "s.b")): Amount(1, NOW)}, NOW)


@pytest.mark.slow
def test_processes_add_up(tmp_path: Path) -> None:
    """What two write at the same time is all there."""
    path = tmp_path / "state" / "learned.db"
    processes = [subprocess.Popen([sys.executable, "-c", ADDING, str(path)]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert SqliteLessons(path).of("local") == [(Lesson(WITH, "s.a", "s.b"), Amount(60, NOW + 29))]


def test_lessons_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of a principal go first, then the principals that were here longest ago; what is forgotten goes."""
    monkeypatch.setattr(sqlite_lessons, "MAX_LESSONS", {WORD: 3, WITH: 1, FLOW: 1})
    monkeypatch.setattr(sqlite_lessons, "MAX_PRINCIPALS", 2)
    store = SqliteLessons(tmp_path / "learned.db")
    for n in range(6):
        store.add({("a", Lesson(WORD, f"w{n}", "s.f")): Amount(1, NOW + n)}, NOW)
    assert [lesson.subject for lesson, _ in store.of("a")] == ["w3", "w4", "w5"]
    for n, who in enumerate(("b", "c")):
        store.add({(who, Lesson(WITH, "s.a", "s.b")): Amount(1, NOW + 10 + n)}, NOW)
    assert {who for who, _, _ in store.everything()} == {"b", "c"}
    store.add({("b", Lesson(WORD, "w", "s.f")): Amount(1, NOW + FORGOTTEN_SECONDS + 20)}, NOW + FORGOTTEN_SECONDS + 20)
    assert {lesson.kind for _, lesson, _ in store.everything()} == {WORD}


def test_what_is_cleared_is_gone(tmp_path: Path) -> None:
    """From the file and from its log, not only from its tables."""
    path = tmp_path / "learned.db"
    reader, store = SqliteLessons(path), SqliteLessons(path)
    words = [f"nameofsomething{n}" for n in range(500)]
    store.add({(who, Lesson(WORD, word, "s.f")): Amount(1, NOW) for word in words for who in "ab"}, NOW)
    assert len(reader.of("a")) == 500
    before = reader.version()
    assert store.clear("a") == 500
    assert (reader.of("a"), len(reader.of("b"))) == ([], 500)
    assert reader.version() != before
    assert store.clear() == 500
    reader.close()
    assert not any(b"nameofsomething" in file.read_bytes() for file in tmp_path.glob("learned.db*"))
    assert SqliteLessons(tmp_path / "none.db").clear() == 0
    assert not (tmp_path / "none.db").exists()


def test_the_tables_are_what_the_steps_make(tmp_path: Path) -> None:
    """The file is made by SQL alone, because to import sqlite-utils takes long."""
    steps = SqliteFile(tmp_path / "steps.db", type(LAYOUT)(LAYOUT.steps, LAYOUT.probe), event="e", hint="h").opened(1)
    made = SqliteFile(tmp_path / "made.db", LAYOUT, event="e", hint="h").opened(1)
    tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    assert steps.execute(tables).fetchall() == made.execute(tables).fetchall()


def test_a_file_of_others_is_refused_with_a_reason(tmp_path: Path) -> None:
    """The error says which file, and what to do."""
    (tmp_path / "learned.db").mkdir()
    with pytest.raises(Exception, match=r"learned\.db") as refused:
        SqliteLessons(tmp_path / "learned.db").add({("a", Lesson(WITH, "a", "b")): Amount(1, NOW)}, NOW)
    assert refused.value.hint  # type: ignore[attr-defined]


def test_a_table_that_is_gone_is_begun_anew(tmp_path: Path) -> None:
    """A file that turns out to be broken while it is open is put aside, and the next write makes a new one."""
    store = SqliteLessons(tmp_path / "learned.db")
    add(store.where)
    assert len(store.of("local")) == 1
    with SqliteFile(store.where, LAYOUT, event="e", hint="h").connect(1) as db:
        db.execute("DROP TABLE lessons")
    with pytest.raises(StateError):
        store.of("local")
    add(store.where)
    assert len(store.of("local")) == 1


def test_words_fade_and_counts_do_not() -> None:
    """Half of a word is left after its half-life, also when it is confirmed; two functions that went together did."""
    first, later = Amount(2, NOW), Amount(1, NOW + HALF_LIFE_SECONDS)
    assert more(WORD, first, later) == Amount(2, NOW + HALF_LIFE_SECONDS)
    assert more(WITH, first, later) == Amount(3, NOW + HALF_LIFE_SECONDS)
    assert first.of_word(NOW - 5) == 2
    known = Known([(Lesson(WITH, "s.a", "s.b"), Amount(9, NOW))], NOW + FORGOTTEN_SECONDS + 1)
    assert known.often_with("s.a") == []


def test_often_and_surely() -> None:
    """From three runs on functions are often together, from two on a value is passed on; more often is surer."""
    lessons = [(Lesson(WITH, "s.a", f"s.{x}"), Amount(n, NOW)) for n, x in enumerate("bcdef", 1)]
    lessons += [(Lesson(FLOW, "s.a id", f"s.{x} key"), Amount(n, NOW)) for n, x in enumerate("bcd", 1)]
    known = Known(lessons, NOW)
    assert known.often_with("s.a") == ["s.f", "s.e", "s.d"]
    assert known.often_with("s.f") == ["s.a"]
    passed = known.passed_to("s.a")
    assert [(each.producer, each.times) for each in passed] == [("s.d", 3), ("s.c", 2)]
    assert 0.5 < passed[1].confidence < passed[0].confidence < 1


def test_searches_are_remembered_within_bounds() -> None:
    """Ten minutes, so many of a principal, and the pages of a search together."""
    now = 0.0
    recent = RecentSearches(lambda: now)
    for n in range(MAX_SEARCHES + 5):
        recent.add("a", {f"w{n}": 1.0}, ["s.f"])
    assert len(recent.led_to("a", ["s.f"])) == MAX_SEARCHES
    recent = RecentSearches(lambda: now)
    recent.add("a", {"w": 0.5}, ["s.f"])
    recent.add("a", {"w": 0.5}, ["s.g"])
    assert recent.led_to("a", ["s.f", "s.g"]) == {("w", "s.f"): 0.5, ("w", "s.g"): 0.5}
    assert recent.led_to("b", ["s.f"]) == {}
    now = 601.0
    assert recent.led_to("a", ["s.f"]) == {}


@pytest.mark.slow
def test_a_full_file_is_read_quickly(tmp_path: Path) -> None:
    """A search that finds the file changed reads all of a principal's lessons first."""
    store = SqliteLessons(tmp_path / "learned.db")
    new = {
        ("a", Lesson(WORD, f"w{n % 400}", f"s.f{n}")): Amount(1, NOW) for n in range(sqlite_lessons.MAX_LESSONS[WORD])
    }
    store.add(new, NOW)
    store.of("a")
    started = time.process_time()
    Known(store.of("a"), NOW)
    assert time.process_time() - started < 0.2


def test_edges_that_use_confirms() -> None:
    """Learned ones join those of documents, the surest first; one that both know is as sure as the surer of them."""
    lessons = [
        (Lesson(FLOW, "s.get item_id", f"{producer} id"), Amount(times, NOW))
        for producer, times in (("s.find", 2), ("s.list", 8), ("other.export", 2), ("s.once", 1))
    ]
    documented = [Edge("get", "item_id", "list", "id", 0.6), Edge("get", "item_id", "top", "id", 0.65)]
    edges = with_learned(documented, "s", "get", Known(lessons, NOW))
    assert [(edge.producer, edge.confidence) for edge in edges] == [
        ("list", 0.96),
        ("other.export", 0.7),
        ("find", 0.7),
        ("top", 0.65),
    ]
    assert with_learned(documented, "s", "list", Known(lessons, NOW)) == documented[::-1]
