"""How often the search finds the right functions for questions that nobody wrote for it, beside plain BM25.

What is developed on, and what is held out, is split by server, so that no function is in both. The held-out half is
measured only with `BENCH_HELD_OUT=1`: to look at it often is to develop on it.
"""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from common import at, median, table
from doorward.data.words import split_words
from doorward.model.functions import Compiled, Function
from doorward_mcp_upstream.tools.functions import compiled
from doorward_search.testing import SearchedCatalog
from doorward_store_sqlite.catalog import SqliteCatalog
from foreignprograms import agentdojo, tau2
from foreignsets import PACKAGES, Place, QuestionSet, single, turns, wheel
from searchquality import raw

PLACES = 10
"""Functions that a search answers with."""

SPLIT = ("live_multiple", "multiple", "parallel_multiple")
"""The sets of many servers, of which each half has half."""

Search = Callable[[str], Sequence[str]]


class Half(NamedTuple):
    """Functions by server, and questions with the qualified names of those that are right."""

    name: str
    servers: Mapping[str, Compiled]
    questions: Sequence[tuple[str, Sequence[str]]]


async def run(folder: Path) -> None:
    try:
        bfcl, dojo, tau = (wheel(package) for package in PACKAGES)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"Foreign questions were left out: {', '.join(PACKAGES)} could not be downloaded ({error}).\n")
        return
    for held in (False, True)[: 1 + (os.environ.get("BENCH_HELD_OUT") == "1")]:
        halves = [halved(single(bfcl, kind), held) for kind in SPLIT]
        if held:
            whole = [single(bfcl, "live_simple"), turns(bfcl, apart=False), tau2(tau)]
        else:
            whole = [agentdojo(dojo), turns(bfcl, apart=True)]
        halves += [halved(each, None) for each in whole]
        print(f"## Foreign questions, {'held out' if held else 'development'}; ms of processor, median / p95")
        rows = [row for number, half in enumerate(halves) for row in _rows(half, folder / f"{held}-{number}.db")]
        columns = ["questions", "functions", "search", "recall@1", "@5", "@10", "all in ten", "nDCG@10", "ms"]
        table(columns, rows)


def halved(of: QuestionSet, held: bool | None) -> Half:
    """The servers of one half, or all, with the questions whose right functions all are of these."""
    tools: dict[str, list[Mapping[str, object]]] = defaultdict(list)
    for (server, _), tool in of.tools.items():
        if held is None or crc32(server.encode()) % 2 == held:
            tools[server].append(tool)
    servers = {server: compiled(server, theirs, era="2025-11-25") for server, theirs in tools.items()}
    names: dict[Place, str] = {(f.server, f.id): f.qualified for made in servers.values() for f in made.functions}
    asked = [(text, right) for text, right in of.questions if all(each in names for each in right)]
    return Half(of.name, servers, [(text, [names[each] for each in right]) for text, right in asked])


def _rows(half: Half, path: Path) -> Iterable[list[object]]:
    catalog = SearchedCatalog(SqliteCatalog(path))
    for server, made in half.servers.items():
        catalog.store(server, made, fingerprint="", settings="", ms=0)
    servers = list(half.servers)
    functions = [function for made in half.servers.values() for function in made.functions]
    sides: dict[str, Search] = {
        "doorward": lambda text: [f.qualified for f in catalog.search(text, servers=servers, limit=PLACES)[0]],
        "plain BM25": plain(functions),
    }
    for name, search in sides.items():
        search("warm")
        about = f"{half.name} ({len(half.questions)})"
        yield [about, f"{len(functions)} of {len(servers)} servers", name, *measured(search, half.questions)]
    catalog.close()


def measured(search: Search, questions: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    told, took = [], []
    for text, right in questions:
        started = time.process_time()
        found = search(text)
        took.append(time.process_time() - started)
        told.append(worth(found, set(right)))
    means = [sum(column) / len(told) for column in zip(*told, strict=True)]
    return [*(f"{mean:.3f}" for mean in means), f"{median(took) * 1000:.1f} / {at(took, 0.95) * 1000:.1f}"]


def worth(found: Sequence[str], right: set[str]) -> list[float]:
    """Recall at 1, 5 and 10; whether all are there; and nDCG: what is found counts less the later it comes."""
    recall = [len(right.intersection(found[:most])) / len(right) for most in (1, 5, PLACES)]
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(found[:PLACES]) if name in right)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(PLACES, len(right))))
    return [*recall, float(recall[-1] == 1), gain / ideal]


def plain(functions: Sequence[Function]) -> Search:
    """BM25 of FTS5 over the raw text of each function."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, content='')")
    db.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", ((n, raw(f)) for n, f in enumerate(functions)))

    def search(text: str) -> Sequence[str]:
        match = " OR ".join(f'"{word}"' for word in split_words(text))
        rows = db.execute(f"SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT {PLACES}", [match])
        return [functions[row].qualified for (row,) in rows] if match else []

    return search
