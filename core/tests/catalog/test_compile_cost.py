"""What storing a compile costs, told by counts: it grows with its functions only, and each costs little."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward import Compiled, Function
from doorward.catalog.catalog import Catalog
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing import check_light_import

pytestmark = pytest.mark.slow

MOST_CALLS = 700
"""Calls of functions, those of C included, for each function of a compile: a third more than it takes."""

OTHER_STATEMENTS = 60
"""SQL statements of a compile besides those that insert its functions and definitions."""

PAGES = {"limit": {"type": "integer", "description": "How many at most, of those that there are"}}
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def compiled(size: int) -> Compiled:
    """So many functions of ten things, which give what others need."""
    functions, definitions = [], {}
    for n in range(size):
        thing = f"{NAMES[n % 10]}{n // 10}"
        definitions[thing] = {"type": "object", "properties": {"id": {"type": "string"}, "title": {"type": "string"}}}
        functions.append(
            Function(
                "s",
                f"get_{thing}",
                f"get{thing.title()}",
                f"Get a {thing}",
                f"Gets the {thing} that has this number, and everything that is known of it",
                {
                    "type": "object",
                    "properties": {f"{thing}_id": {"type": "string"}, **PAGES},
                    "required": [f"{thing}_id"],
                },
                {"$ref": f"#/$defs/{thing}"},
                read_only=True,
                route=f"GET /{thing}s/{{{thing}_id}}",
            )
        )
    return Compiled(functions, definitions)


def calls(work: Callable[[], Any]) -> int:
    """How many functions are called."""
    count = 0

    def seen(frame: Any, event: str, of: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def store(folder: Path, size: int) -> Callable[[], Any]:
    catalog, made = Catalog(SqliteCatalog(folder / f"{size}.db")), compiled(size)
    return lambda: catalog.store("s", made, fingerprint="", settings="", ms=0)


def test_a_function_costs_little(tmp_path: Path) -> None:
    """Ten times the functions are ten times the work."""
    store(tmp_path, 1)()  # imports
    few, many = (calls(store(tmp_path, size)) for size in (100, 1000))
    assert (many - few) / 900 < MOST_CALLS
    assert (many - few) / 900 < 1.2 * few / 100


def test_statements_insert_rows_and_little_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, real = [], sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        db = real(*args, **options)
        db.set_trace_callback(said.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    store(tmp_path, 300)()
    assert len(said) < 300 + 300 + OTHER_STATEMENTS
    assert sum(statement.startswith("BEGIN") for statement in said) <= 2  # the tables, and what is in them


def test_tables_are_made_without_sqlite_utils() -> None:
    """To import it takes longer than to compile most documents."""
    check_light_import("doorward.catalog.writer", forbidden=("sqlite_utils", "numpy"))
