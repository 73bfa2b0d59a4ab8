"""What models wrote, as it is stored: under a hash of what was documented."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doorward import Compiled, Function
from doorward.catalog.catalog import Catalog
from doorward.engines import MemoryStore
from doorward_enhance.written import WRITTEN, Stored, Written, documented
from doorward_store_sqlite.catalog import SqliteCatalog

pytestmark = pytest.mark.anyio

SERVERS = """
executor = []
cache = "none"
plugins = []
[servers.weather]
source = "fake"
"""


def catalog_of(folder: Path, *functions: Function) -> Catalog:
    catalog = Catalog(SqliteCatalog(folder / "catalog.db"))
    catalog.store("s", Compiled(functions, {"Thing": {"type": "object"}}), fingerprint="f", settings="c", ms=1)
    catalog.refresh()
    return catalog


async def test_nobody_reads_what_was_said_of_another_text(doorward_host: Any) -> None:
    """If a function changes between the question and the answer, the answer is kept, and not shown."""
    async with doorward_host.gateway(SERVERS) as gate:
        await gate.ready()
        raw, big = (gate.catalog.function("weather", name) for name in ("raw", "big"))
        old = documented(replace(raw, summary="Another"), gate.catalog), documented(big, gate.catalog)
        written = gate.services[WRITTEN]
        for name, hash in zip(("raw", "big", "none"), (*old, "h"), strict=True):
            await written.change("weather", {name: Stored(hash, '{"summary":"x"}', "x", False)})
        assert (gate.catalog.notes.summary(raw), gate.catalog.notes.summary(big)) == ("", "by a model: x")


async def test_what_another_process_writes_is_read(doorward_host: Any) -> None:
    """With the next look at the store, which a serving gateway takes twice a minute."""
    async with doorward_host.gateway(SERVERS) as gate:
        await gate.ready()
        big = gate.catalog.function("weather", "big")
        other = Written(gate.store)
        await other.change("weather", {"big": Stored(documented(big, gate.catalog), '{"summary":"x"}', "word", False)})
        await gate.plugins.lifetimes.flush()
        assert gate.catalog.notes.summary(big) == "by a model: x"
        assert gate.catalog.notes.words() == [("weather", "big", ["word"])]
        found = await gate.search_functions("word")
        assert [each["function"] for each in found["functions"]] == ["weather.big"]


async def test_what_an_earlier_version_stored_is_taken_over(tmp_path: Path) -> None:
    """From the catalog, once: what is removed then stays removed."""
    SqliteCatalog(tmp_path / "catalog.db").made().close()
    row = ("s", "f", "hash", '{"summary":"x"}', "x", 1)
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as db, db:
        db.execute("INSERT INTO enhancements VALUES (?, ?, ?, ?, ?, ?)", row)
    store = MemoryStore()
    written = Written(store)
    await written.read(tmp_path)
    assert written.of("s") == {"f": Stored("hash", '{"summary":"x"}', "x", True)}
    await written.change("s", {"f": None})
    again = Written(store)
    await again.read(tmp_path)
    assert again.of("s") == {}


Change = Callable[[Function], Function]


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (lambda f: replace(f, summary="x"), True),
        (lambda f: replace(f, description="x"), True),
        (lambda f: replace(f, route="GET /x"), True),
        (lambda f: replace(f, read_only=True), True),
        (lambda f: replace(f, parameters={"type": "object", "properties": {"a": {"description": "x"}}}), True),
        (lambda f: replace(f, returns={"$ref": "#/$defs/Thing"}), True),
        (lambda f: replace(f, data={"x": 1}), False),
        (lambda f: replace(f, aliases=("x",)), False),
    ],
)
def test_what_is_documented(tmp_path: Path, change: Change, differs: bool) -> None:
    """The hash is that of texts and schemas, with what they refer to, and of nothing else."""
    catalog = catalog_of(tmp_path, Function("s", "f", "f", "Summary"))
    found = catalog.function("s", "f")
    assert found is not None
    assert (documented(change(found), catalog) != documented(found, catalog)) is differs
