"""The seam for storage: what any engine must do, by two of them, and a gateway on the one that is not SQLite."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import doorward
import pytest
from doorward.catalog.catalog import Catalog
from doorward.catalog.memory_catalog import EMPTY_CATALOG, MemoryCatalog
from doorward.catalog.plain_search import PlainSearch
from doorward.catalog.store import CatalogStore
from doorward.model.functions import Compiled
from doorward.model.search import Search
from doorward.stores import Stores
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing import CatalogStoreConformance
from doorward_testing.samples import CONFIG

from ..conftest import function, stored

CORE = Path(doorward.__file__).parent


class TestSqlite(CatalogStoreConformance):
    def store(self, folder: Path) -> CatalogStore:
        return SqliteCatalog(folder / "catalog.db")


class TestMemory(CatalogStoreConformance):
    @pytest.fixture(autouse=True)
    def shared(self) -> None:
        self.made = MemoryCatalog()

    def store(self, folder: Path) -> CatalogStore:
        return self.made


@pytest.mark.slow
def test_sql_is_below_the_seam() -> None:
    """The kernel knows no SQLite and writes no statement, but for what takes over a file of an earlier version."""
    knows = re.compile(r"sqlite3|sqlite_utils|\bSELECT .* FROM\b|\bINSERT INTO\b|\bDELETE FROM\b")
    assert {f"{file.parent.name}/{file.name}" for file in CORE.rglob("*.py") if knows.search(file.read_text())} == {
        "host/store_updates.py",
        "calls/withholding.py",
    }
    makes = re.compile(r"MemoryCatalog\(")
    assert [
        file.name for file in CORE.rglob("*.py") if makes.search(re.sub(r"(?m)^class .*", "", file.read_text()))
    ] == ["stores.py"]


@pytest.mark.anyio
async def test_a_gateway_on_another_engine(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything works and lasts, and no SQLite file is opened or made."""

    def none(*args: Any, **options: Any) -> None:
        raise AssertionError("SQLite is not used")

    monkeypatch.setattr(sqlite3, "connect", none)
    stores = Stores(MemoryCatalog())
    async with doorward_host.gateway(CONFIG, stores=stores) as gate:
        assert (await gate.execute("result = await weather.get_forecast(city='Oslo')")).value == {
            "city": "Oslo",
            "high": 20.5,
        }
        found = await gate.search_functions("forecast of a city", read_only=True)
        assert found["functions"][0]["function"] == "weather.get_forecast"
        assert (await gate.search_functions("tag:adm*"))["total"] == 1
        found = await gate.search_functions("addStation")
        assert found["functions"][0]["function"] == "weather.add_station"
        (card,) = await gate.get_functions(["weather.getForecast"])
        assert card["signature"].startswith("weather.get_forecast(city: string")
        large = await gate.execute("result = await weather.big()")
        assert large.truncated is not None
        assert (await gate.result(large.truncated["rest"])).total > 100_000
    compiles = stores.catalog.writes  # type: ignore[attr-defined]
    async with doorward_host.gateway(CONFIG, stores=stores, compile=False) as gate:
        assert (await gate.list_servers())["servers"][0]["functions"] == 8
    assert stores.catalog.writes == compiles  # type: ignore[attr-defined]
    assert not list(doorward_host.folder.rglob("*.db"))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "query", ["show all issues", "createIssue", "s.issues_delete", "issus", "remove", "tag:a*", "", "pets and issues"]
)
async def test_engines_find_the_same(tmp_path: Path, query: str) -> None:
    """What fits, and what fits best, is no matter of the engine."""
    functions = [
        function("issues_list", "List issues", read_only=True, tags=("a",), route="GET /issues"),
        function("issues_create", "Create an issue", id="createIssue", route="POST /issues"),
        function("issues_delete", "Delete an issue", tags=("abc", "b"), route="DELETE /issues/{id}"),
        function("pets_list", "List pets", read_only=True, route="GET /pets"),
    ]
    memory = Catalog(MemoryCatalog())
    memory.store("s", Compiled(functions), fingerprint="f", settings="c", ms=1)
    asked = Search([query], "local", ["s"], ["s"])
    here, there = [
        await PlainSearch(each).find(asked)
        for each in (stored(SqliteCatalog(tmp_path / "catalog.db"), *functions), memory)
    ]
    assert here == there


def test_nothing_is_read_before_somebody_writes(tmp_path: Path) -> None:
    """To open a gateway makes no catalog; what another makes is read at once."""
    path = tmp_path / "state/catalog.db"
    early, late = Catalog(SqliteCatalog(path)), Catalog(SqliteCatalog(path))
    assert early.lost
    assert (early.function("s", "f"), early.names("s"), early.reports()) == (None, (), {})
    assert not path.exists()
    late.store("s", Compiled([function("f")]), fingerprint="f", settings="c", ms=1)
    assert early.refresh()
    assert not early.lost
    assert early.function("s", "f") == function("f")
    early.close()
    late.close()


def test_nothing_answers_as_an_empty_catalog_does(tmp_path: Path) -> None:
    """Before the first compile, too."""
    empty = SqliteCatalog(tmp_path / "catalog.db").made()
    asked: dict[str, Any] = {
        "servers": (), "reports": (), "settings": (), "derived": ("index",), "function": ("s", "f"), "named": ("s",),
        "names": ("s", "name", None), "aliases": ("s",), "definition": ("s", "d"),
    }  # fmt: skip
    for name, given in asked.items():
        assert getattr(EMPTY_CATALOG, name)(*given) == getattr(empty, name)(*given), name
    empty.close()


START = """
import asyncio, sys
from doorward.config.installed_plugins import Index, installed
from doorward.gateway import Gateway
async def main():
    engines = [each for each in installed() if each.kind == "catalog"]
    async with Gateway.open(sys.argv[1], index=Index(engines if "engine" in sys.argv else [])) as gate:
        await gate.list_servers()
        print(sorted({"sqlite_utils", "sqlite3"} & sys.modules.keys()))
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("there", ["none", "one", "broken", "older"])
def test_a_start_does_not_import_what_makes_tables(doorward_host: Any, there: str) -> None:
    """Whatever catalog there is: to import sqlite-utils takes longer than the start itself."""
    config, file = (
        doorward_host.write('executor = []\ncache = "none"\nplugins = []\n'),
        doorward_host.folder / "state/catalog.db",
    )
    if there != "none":
        SqliteCatalog(file).made().close()
    if there == "broken":
        file.write_bytes(b"no database" * 1000)
    if there == "older":
        with contextlib.closing(sqlite3.connect(file)) as db:
            db.execute("PRAGMA user_version = 3")
    done = subprocess.run(
        [sys.executable, "-c", START, str(config), "engine"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['sqlite3']"
    assert file.exists() == (there == "one")


@pytest.mark.slow
def test_a_start_without_an_engine_imports_no_sqlite(doorward_host: Any) -> None:
    """The kernel knows none: the catalog is in memory, and no file is made."""
    config = doorward_host.write('executor = []\ncache = "none"\nplugins = []\n')
    done = subprocess.run([sys.executable, "-c", START, str(config)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert not list((doorward_host.folder / "state").glob("*.db*"))
