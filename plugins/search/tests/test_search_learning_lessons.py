"""How lessons are kept: by any number of processes, bounded, and gone when they are cleared."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doorward import PluginContext, StateError
from doorward.engines import MemoryStore
from doorward_search.graph.producers import Edge
from doorward_search.learning import stored_lessons
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
    more,
)
from doorward_search.learning.recent_searches import MAX_SEARCHES, RecentSearches
from doorward_search.learning.stored_lessons import StoredLessons
from doorward_store_sqlite import SqliteSettings, SqliteStore

NOW = 1_800_000_000.0


pytestmark = pytest.mark.anyio


def shared(folder: Path) -> SqliteStore:
    return SqliteStore(PluginContext("sqlite", SqliteSettings(), folder))


async def of(lessons: StoredLessons, principal: str) -> dict[Lesson, Amount]:
    return dict((await lessons.of(principal))[1])


async def test_what_is_added_is_there() -> None:
    """Lessons are those of one principal. Counts add up; a word has lost half after 30 days."""
    lessons, word, together = StoredLessons(MemoryStore()), Lesson(WORD, "w", "s.f"), Lesson(WITH, "s.a", "s.b")
    assert (await lessons.of("alice"), list(await lessons.everything())) == ((0, []), [])
    await lessons.add("alice", {together: Amount(1, NOW), word: Amount(1, NOW)}, NOW)
    later = NOW + HALF_LIFE_SECONDS
    await lessons.add("alice", {together: Amount(2, later), word: Amount(2, later)}, later)
    found = await of(lessons, "alice")
    assert found[together] == Amount(3, later)
    assert found[word].times == pytest.approx(2.5)
    assert await of(lessons, "bob") == {}


async def test_changes_are_noticed(tmp_path: Path) -> None:
    """A reader sees what another has added, and can tell that it has to look."""
    stores = shared(tmp_path), shared(tmp_path)
    one, other = map(StoredLessons, stores)
    await one.add("alice", {Lesson(WITH, "s.a", "s.b"): Amount(1, NOW)}, NOW)
    before, (version, found) = await other.changes(), await other.of("alice")
    assert len(found) == 1
    assert (await one.add("alice", {Lesson(WORD, "w", "s.f"): Amount(1, NOW)}, NOW))[0] == version
    assert await other.changes() > before
    assert len(await of(other, "alice")) == 2
    for store in stores:
        await store.close()


ADDING = f"""
import asyncio, sys
from pathlib import Path
from doorward import PluginContext
from doorward_search.learning.lessons import Amount, Lesson
from doorward_search.learning.stored_lessons import StoredLessons
from doorward_store_sqlite import SqliteSettings, SqliteStore

async def main():
    store = SqliteStore(PluginContext("sqlite", SqliteSettings(), Path(sys.argv[1])))
    for n in range(30):
        await StoredLessons(store).add("local", {{Lesson("with", "s.a", "s.b"): Amount(1, {NOW} + n)}}, {NOW})
    await store.close()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_processes_add_up(tmp_path: Path) -> None:
    """What two write at the same time is all there."""
    processes = [subprocess.Popen([sys.executable, "-c", ADDING, str(tmp_path)]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    store = shared(tmp_path)
    assert await of(StoredLessons(store), "local") == {Lesson(WITH, "s.a", "s.b"): Amount(60, NOW + 29)}
    await store.close()


async def test_lessons_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of a principal go first, then the principals that were here longest ago; what is forgotten goes."""
    monkeypatch.setattr(stored_lessons, "MAX_LESSONS", {WORD: 3, WITH: 1, FLOW: 1})
    monkeypatch.setattr(stored_lessons, "MAX_PRINCIPALS", 2)
    now, lessons = [NOW], StoredLessons(MemoryStore(clock=lambda: now[0]))
    for n in range(6):
        await lessons.add("a", {Lesson(WORD, f"w{n}", "s.f"): Amount(1, NOW + n)}, NOW)
    assert sorted(lesson.subject for lesson in await of(lessons, "a")) == ["w3", "w4", "w5"]
    for n, who in enumerate(("b", "c")):
        await lessons.add(who, {Lesson(WITH, "s.a", "s.b"): Amount(1, NOW + 10 + n)}, NOW)
    assert {who for who, _, _ in await lessons.everything()} == {"b", "c"}
    now[0] += FORGOTTEN_SECONDS + 20
    await lessons.add("b", {Lesson(WORD, "w", "s.f"): Amount(1, now[0])}, now[0])
    assert {(who, lesson.kind) for who, lesson, _ in await lessons.everything()} == {("b", WORD)}


async def test_what_is_cleared_is_gone(tmp_path: Path) -> None:
    """From the file and from its log, not only from its tables; that of one principal, or all."""
    stores = shared(tmp_path), shared(tmp_path)
    reader, lessons = map(StoredLessons, stores)
    new = {Lesson(WORD, f"nameofsomething{n}", "s.f"): Amount(1, NOW) for n in range(500)}
    for who in ("a", "ab"):
        await lessons.add(who, new, NOW)
    assert len(await of(reader, "a")) == 500
    before = await reader.changes()
    assert await lessons.clear("a") == 500
    assert (await of(reader, "a"), len(await of(reader, "ab"))) == ({}, 500)
    assert await reader.changes() != before
    assert (await lessons.clear(), await lessons.clear()) == (500, 0)
    for store in stores:
        await store.close()
    assert not any(b"nameofsomething" in file.read_bytes() for file in tmp_path.glob("store.db*"))


async def test_a_file_of_others_is_refused_with_a_reason(tmp_path: Path) -> None:
    """The error says which file, and what to do."""
    (tmp_path / "store.db").mkdir()
    store = shared(tmp_path)
    with pytest.raises(StateError, match=r"store\.db") as refused:
        await StoredLessons(store).add("a", {Lesson(WITH, "a", "b"): Amount(1, NOW)}, NOW)
    assert refused.value.hint
    await store.close()


async def test_what_an_earlier_version_learned_is_taken_over(tmp_path: Path) -> None:
    """Exactly, once for all processes; the file stays as it is."""
    file = tmp_path / "learned.db"
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE lessons (principal TEXT, kind TEXT, subject TEXT, object TEXT, times REAL, last REAL)")
        rows = [
            ("a", WORD, "w", "s.f", 1.5, NOW),
            ("a", WITH, "s.a", "s.b", 3.0, NOW + 1),
            ("b", WORD, "x", "s.f", 1.0, NOW),
        ]
        db.executemany("INSERT INTO lessons VALUES (?, ?, ?, ?, ?, ?)", rows)
    store = shared(tmp_path)
    for times in (1, 2):
        lessons = StoredLessons(store, file)
        await lessons.add("b", {Lesson(WORD, "x", "s.f"): Amount(1, NOW)}, NOW)
        assert await of(lessons, "a") == {
            Lesson(WORD, "w", "s.f"): Amount(1.5, NOW), Lesson(WITH, "s.a", "s.b"): Amount(3.0, NOW + 1)
        }  # fmt: skip
        assert await of(lessons, "b") == {Lesson(WORD, "x", "s.f"): Amount(1.0 + times, NOW)}
    assert file.exists()
    await store.close()


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
async def test_a_full_record_is_read_quickly(tmp_path: Path) -> None:
    """A search that finds the lessons changed reads all of a principal's first."""
    store = shared(tmp_path)
    new = {Lesson(WORD, f"w{n % 400}", f"s.f{n}"): Amount(1, NOW) for n in range(stored_lessons.MAX_LESSONS[WORD])}
    await StoredLessons(store).add("a", new, NOW)
    started = time.process_time()
    Known((await StoredLessons(store).of("a"))[1], NOW)
    assert time.process_time() - started < 0.2
    await store.close()


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
