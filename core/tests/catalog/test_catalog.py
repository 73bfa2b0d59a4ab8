"""The stored functions: kept whole, found again, never broken."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from doorward.catalog.catalog import Catalog
from doorward.catalog.function_codec import Report, as_json, scrubbed
from doorward.model.errors import PluginError, StateError
from doorward.model.functions import Compiled
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing import check_light_import

from ..conftest import function, stored


def test_a_function_comes_back_as_it_was(tmp_path: Path) -> None:
    """Everything of a function survives, by its name and by its original id. CONTRACT: SRC-07, SRC-11."""
    kept = function(
        "get_it",
        "Gets it",
        id="getIt",
        tags=("a", "b"),
        returns={"$ref": "#/$defs/Thing"},
        read_only=True,
        data={"x": [1]},
    )
    catalog = stored(SqliteCatalog(tmp_path / "catalog.db"), kept)
    assert catalog.function("s", "get_it") == catalog.function("s", "getIt") == kept
    assert catalog.definition("s", "Thing") == {"type": "object"}
    assert catalog.reports()["s"].functions == 1


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\0" * 500])
def test_a_broken_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    """A file that is no catalog, or torn, is replaced: everything can be compiled again."""
    (tmp_path / "catalog.db").write_bytes(content)
    assert stored(SqliteCatalog(tmp_path / "catalog.db"), function("f")).function("s", "f")


def test_an_older_layout_is_made_anew(tmp_path: Path) -> None:
    """A file of another version is not misread."""
    old = sqlite3.connect(tmp_path / "catalog.db")
    old.execute("CREATE TABLE functions (x)")
    old.execute("PRAGMA user_version = 99")
    old.commit()
    old.close()
    assert stored(SqliteCatalog(tmp_path / "catalog.db"), function("f")).function("s", "f")


AS_BEFORE = """
CREATE TABLE servers (name TEXT PRIMARY KEY, report TEXT, words TEXT);
CREATE TABLE compiles (number INTEGER);
INSERT INTO compiles VALUES (0);
CREATE TABLE observed (server TEXT, name TEXT, digest TEXT, shape TEXT, times INTEGER, last REAL, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE enhancements (server TEXT, name TEXT, documented TEXT, record TEXT, words TEXT, waits INTEGER, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE definitions (server TEXT, name TEXT, schema TEXT, PRIMARY KEY (server, name)) WITHOUT ROWID;
CREATE TABLE functions (id INTEGER PRIMARY KEY, server TEXT, name TEXT, original TEXT, read_only INTEGER, record TEXT);
CREATE UNIQUE INDEX functions_by_name ON functions (server, name);
CREATE INDEX functions_by_original ON functions (original, server);
CREATE INDEX functions_called ON functions (name);
CREATE VIRTUAL TABLE search USING fts5 (facts, server, name, noun, summary, route, tags, description, parameters,
    questions, tokenize = "unicode61 tokenchars '_'");
INSERT INTO search (search, rank) VALUES ('rank', 'bm25(0, 0, 5, 3, 3, 2, 2, 1, 1, 1)');
PRAGMA user_version = 5;
"""
"""As files were made before sqlite-utils made them."""


def test_a_file_of_before_is_the_same(tmp_path: Path) -> None:
    """It is brought up to date; those that are made now have the same columns and indexes."""

    def tables(file: Path) -> tuple[object, ...]:
        with contextlib.closing(sqlite3.connect(file)) as db:
            names = [
                name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            ]
            columns = {
                name: [(*row[1:3], row[5]) for row in db.execute(f"PRAGMA table_info({name})")] for name in names
            }
            made = "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
            indexes = {row: db.execute(f"PRAGMA index_info({row[0]})").fetchall() for row in db.execute(made)}
            return columns, indexes, db.execute("PRAGMA user_version").fetchone()

    (tmp_path / "old").mkdir(mode=0o700)
    old = tmp_path / "old" / "catalog.db"
    with contextlib.closing(sqlite3.connect(old)) as db:
        db.executescript(AS_BEFORE)
    SqliteCatalog(old).made().close()
    SqliteCatalog(tmp_path / "catalog.db").made().close()
    assert tables(old) == tables(tmp_path / "catalog.db")
    before = old.stat().st_ino
    assert stored(SqliteCatalog(tmp_path / "old" / "catalog.db"), function("f")).names("s") == ("f",)
    assert old.stat().st_ino == before


def test_what_was_compiled_before_is_compiled_again(tmp_path: Path) -> None:
    """It is found meanwhile; but what its functions need is known by a compile only, so none is skipped as unchanged."""
    with contextlib.closing(sqlite3.connect(tmp_path / "catalog.db")) as db:
        db.executescript(AS_BEFORE)
        report = as_json(asdict(Report("s", 1, [], [], 1.0, fingerprint="as it was", settings="the same")))
        db.execute("INSERT INTO servers VALUES ('s', ?, '{}')", [report])
        _, record = scrubbed(function("get_it", "Gets it"), str)
        db.execute("INSERT INTO functions VALUES (1, 's', 'get_it', 'getIt', 1, ?)", [record])
        db.commit()
    store = SqliteCatalog(tmp_path / "catalog.db")
    store.made().close()
    catalog = Catalog(store)
    assert [f.name for f in catalog.functions("s")] == ["get_it"]
    assert (catalog.reports()["s"].fingerprint, catalog.reports()["s"].settings) == ("", "the same")
    catalog.close()


def test_what_we_have_stored_is_there_while_another_process_opens_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which locks it for a moment: who does not wait would see no function of a server that is compiled."""
    store = SqliteCatalog(tmp_path / "catalog.db")
    opens = store.open

    def locked(*, patient: bool = True) -> Any:
        if not patient:
            raise StateError("another process holds it locked")
        return opens(patient=patient)

    monkeypatch.setattr(store, "open", locked)
    assert stored(store, function("f")).names("s") == ("f",)


def test_what_was_derived_before_is_there(tmp_path: Path) -> None:
    """As it was stored when it had columns of its own."""
    store = SqliteCatalog(tmp_path / "catalog.db")
    store.made().close()
    with contextlib.closing(sqlite3.connect(tmp_path / "catalog.db")) as db:
        db.executescript(
            "DROP TABLE derived; CREATE TABLE segments (server TEXT PRIMARY KEY, content BLOB, graph TEXT); "
            "INSERT INTO segments VALUES ('s', x'00ff', '{}'), ('t', x'01', NULL); PRAGMA user_version = 6"
        )
    catalog = Catalog(store)
    assert catalog.derived("segment") == {"s": b"\x00\xff", "t": b"\x01"}
    assert (catalog.derived("graph"), catalog.derived("graph", "t")) == ({"s": b"{}"}, {})
    catalog.close()


def test_what_is_derived_is_stored_with_the_compile(tmp_path: Path) -> None:
    """In its transaction; a defect of whoever derives stops no compile, and two may not have one name."""
    catalog = Catalog(SqliteCatalog(tmp_path / "catalog.db"))
    catalog.derives.add(
        "names", lambda functions, definitions, scrub: (scrub("a key-1: ") + functions[0].summary).encode()
    )
    catalog.derives.add("broken", lambda functions, definitions, scrub: definitions("nosuch")["type"])
    with pytest.raises(PluginError, match="two plugins derive 'names'"):
        catalog.derives.add("names", lambda functions, definitions, scrub: b"")
    one = function("f", "of key-1")
    catalog.store(
        "s", Compiled([one]), fingerprint="f", settings="c", ms=1, scrub=lambda text: text.replace("key-1", "[secret]")
    )
    catalog.refresh()
    assert (catalog.derived("names", "s"), catalog.derived("broken")) == ({"s": b"a [secret]: of [secret]"}, {})
    catalog.drop(["s"])
    assert catalog.derived("names") == {}
    catalog.close()


@pytest.mark.slow
def test_a_start_waits_for_no_numpy() -> None:
    """Only a search and a compile need it; a gateway that starts does neither."""
    check_light_import("doorward.gateway", forbidden=("numpy",))


@pytest.mark.slow
def test_opens_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening reads nothing of what is stored: with 3,000 functions SQLite takes as many steps as with one."""
    stored(
        SqliteCatalog(tmp_path / "catalog.db"), *(function(f"f{i}", "A function among many") for i in range(3_000))
    ).close()
    small = tmp_path / "small"
    stored(SqliteCatalog(small / "catalog.db"), function("f")).close()

    steps, real = [0], sqlite3.connect

    def counted(*args: Any, **options: Any) -> sqlite3.Connection:
        def step() -> int:
            steps[0] += 1
            return 0

        db = real(*args, **options)
        db.set_progress_handler(step, 1)
        return db

    def opened(folder: Path) -> int:
        steps[0] = 0
        Catalog(SqliteCatalog(folder / "catalog.db")).close()
        return steps[0]

    monkeypatch.setattr(sqlite3, "connect", counted)
    assert 0 < opened(tmp_path) == opened(small)


def test_the_file_is_private(tmp_path: Path) -> None:
    """Nobody else may read what the user connects to."""
    stored(SqliteCatalog(tmp_path / "catalog.db"), function("f"))
    assert (tmp_path / "catalog.db").stat().st_mode & 0o077 == 0
