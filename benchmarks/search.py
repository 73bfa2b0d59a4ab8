"""Searching, reading functions and opening the catalog, with all available specifications compiled together."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import Project, ms, openapi, table
from doorward.catalog.catalog import Catalog
from doorward.gateway import Gateway
from doorward.model.functions import Compiled, Function
from doorward_search.testing import SearchedCatalog
from doorward_store_sqlite.catalog import SqliteCatalog

QUERIES = (
    "list the issues of a repository", "create a customer", "send a message to a channel", "delete pod",
    "upload a file", "refund a payment", "current weather", "search users", "get", "issues_list_for_repo", "charge",
    "merge pull request", "container logs", "zzz nothing fits",
)  # fmt: skip
SUFFIXES = (".json", ".yaml", ".yml", ".json.zst", ".yaml.zst", ".yml.zst")


async def run(folder: Path) -> None:
    rows: list[list[Any]] = []
    await _specifications(folder, rows)
    for count in (1, 20_000):
        path = folder / f"catalog-{count}.db"
        catalog = SearchedCatalog(SqliteCatalog(path))
        functions = [_function(n) for n in range(count)]
        catalog.store("many", Compiled(functions), fingerprint="", settings="", ms=0)
        catalog.close()
        rows.append(
            [
                f"open a catalog of {count}",
                ms(_times(lambda path=path: Catalog(SqliteCatalog(path)).close(), 100)),
            ]
        )
        catalog = SearchedCatalog(SqliteCatalog(path))
        took = [t for query in QUERIES for t in _times(lambda c=catalog, q=query: c.search(q, servers=["many"]), 10)]
        rows.append([f"search among {count} made up", ms(took)])
        catalog.close()
    print(f"## Search and catalog, ms (median / p95); SQLite {sqlite3.sqlite_version}")
    table(["what", "ms"], rows)


async def _specifications(folder: Path, rows: list[list[Any]]) -> None:
    specs = Path(os.environ.get("DOORWARD_SPECS", "-"))
    found = {f"s{n}": str(f) for n, f in enumerate(sorted(specs.glob("*"))) if f.name.endswith(SUFFIXES)}
    if not found:
        print("All specifications together were left out: set DOORWARD_SPECS to their folder.\n")
        return
    project = Project(folder / "specs", openapi(found))
    started = time.perf_counter()
    reports = project.compile()
    count = sum(r.get("functions", 0) for r in reports.values())
    rows.append(
        [f"compile {len(reports)} specifications, {count} functions", f"{(time.perf_counter() - started) * 1000:.0f}"]
    )
    took = []
    for _ in range(5):
        started = time.perf_counter()
        async with Gateway.open(project.config, compile=False):
            took.append(time.perf_counter() - started)
    rows.append([f"open a gateway of {len(reports)} servers", ms(took)])
    async with Gateway.open(project.config, compile=False) as gate:
        took, names = [], []
        for _ in range(20):
            for query in QUERIES:
                started = time.perf_counter()
                answer = await gate.search_functions(query)
                took.append(time.perf_counter() - started)
                names += [f["function"] for f in answer["functions"][:2]]
        rows.append([f"search among {count}", ms(took)])
        took = []
        for name in dict.fromkeys(names):
            started = time.perf_counter()
            await gate.get_functions([name])
            took.append(time.perf_counter() - started)
        rows.append(["get one function, first time", ms(took)])


def _times(work: Callable[[], Any], rounds: int) -> list[float]:
    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        took.append(time.perf_counter() - started)
    return took


def _function(n: int) -> Function:
    verb, noun = (
        ("list", "create", "delete", "update", "get")[n % 5],
        ("issue", "customer", "channel", "pod", "file", "payment")[n % 6],
    )
    return Function(
        "many",
        f"{verb}_{noun}_{n}",
        summary=f"{verb.title()} the {noun}s of project {n}",
        parameters={"type": "object"},
    )
