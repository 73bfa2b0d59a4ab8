"""How often the right function is found: natural questions, within one server and over all available specifications.

Columns of `questions.tsv`: half, question, right functions (the server of the first one is searched alone). README.md
explains the halves. The baseline is BM25 of FTS5 over the raw text of the same functions.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from common import HERE, Project, at, median, openapi, table
from doorward.data.words import split_words
from doorward_search.testing import SearchedCatalog
from doorward_store_sqlite.catalog import SqliteCatalog

SUFFIXES = (".json", ".yaml", ".yml", ".json.zst", ".yaml.zst", ".yml.zst")
Search = Callable[[str, Sequence[str]], list[str]]


async def run(folder: Path) -> None:
    specs = Path(os.environ.get("DOORWARD_SPECS", "-"))
    files = [f for f in sorted(specs.glob("*")) if f.name.endswith(SUFFIXES)]
    if not files:
        print("The quality of search was left out: set DOORWARD_SPECS to the folder of specifications.\n")
        return
    project = Project(folder / "quality", openapi(_named(files)))
    project.compile()
    catalog = SearchedCatalog(SqliteCatalog(folder / "quality" / "state" / "catalog.db"))
    servers = list(catalog.reports())
    plain = _plain(catalog, servers)
    sides: dict[str, Search] = {
        "doorward": lambda query, asked: [f.qualified for f in catalog.search(query, servers=asked)[0]],
        "plain BM25": plain,
    }
    catalog.search("warm", servers=servers)
    questions = [line.split("\t") for line in (HERE / "questions.tsv").read_text().splitlines()]
    rows = []
    for half in dict.fromkeys(q[0] for q in questions):
        chosen = [(query, right.split()) for group, query, right in questions if group == half]
        for everywhere in (False, True):
            for name, search in sides.items():
                where = "all servers" if everywhere else "one server"
                rows.append(
                    [
                        f"{half} ({len(chosen)})",
                        where,
                        name,
                        *_measured(search, chosen, servers if everywhere else None),
                    ]
                )
    count = sum(report.functions for report in catalog.reports().values())
    print(
        f"## Quality of search: {len(questions)} questions, {count} functions of {len(servers)} servers; ms of "
        f"processor, median / p95"
    )
    table(["questions", "asked", "search", "recall@1", "@5", "@10", "MRR", "ms"], rows)
    catalog.close()


def _named(files: Sequence[Path]) -> dict[str, str]:
    """Servers as a user would call them: `github`, `stripe`; the file's whole name where that is taken."""
    found: dict[str, str] = {}
    for file in files:
        whole = file.name.partition(".")[0].replace("-", "_")
        short = re.sub(r"_(guru|swagger|api.*|v\d.*|2\d+.*|web.*|oss|rpc.*|3|1|admin|auth)$", "", whole)
        found[whole if short in found else short] = str(file)
    return found


def _measured(
    search: Search, questions: Sequence[tuple[str, Sequence[str]]], servers: Sequence[str] | None
) -> list[str]:
    ranks, took = [], []
    for query, right in questions:
        asked = servers or [right[0].partition(".")[0]]
        started = time.process_time()
        found = search(query, asked)
        took.append(time.process_time() - started)
        ranks.append(next((place for place, name in enumerate(found, 1) if name in right), None))
    hits = [rank for rank in ranks if rank]
    recall = [f"{sum(rank <= k for rank in hits) / len(ranks):.3f}" for k in (1, 5, 10)]
    return [
        *recall,
        f"{sum(1 / rank for rank in hits) / len(ranks):.3f}",
        f"{median(took) * 1000:.1f} / {at(took, 0.95) * 1000:.1f}",
    ]


def _plain(catalog: SearchedCatalog, servers: Sequence[str]) -> Search:
    """BM25 over the full text of each function; there is one index for each server, and one
    for all of them together."""
    db = sqlite3.connect(":memory:")
    names: list[str] = []
    for table_ in ("everything", *servers):
        db.execute(f"CREATE VIRTUAL TABLE x_{table_} USING fts5 (text, content='')")
    for server in servers:
        for function in catalog.functions(server):
            text = raw(function)
            for table_ in ("everything", server):
                db.execute(f"INSERT INTO x_{table_} (rowid, text) VALUES (?, ?)", [len(names), text])
            names.append(function.qualified)

    def search(query: str, asked: Sequence[str]) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in split_words(query))
        where = f"x_{asked[0] if len(asked) == 1 else 'everything'}"
        rows = db.execute(f"SELECT rowid FROM {where} WHERE {where} MATCH ? ORDER BY rank LIMIT 10", [match])
        return [names[row] for (row,) in rows]

    return search


def raw(function: Any) -> str:
    parameters = function.parameters.get("properties", {})
    said = [
        function.server,
        function.name,
        function.id,
        function.summary,
        function.description,
        function.route,
        *function.tags,
    ]
    described = [str(schema.get("description", "")) for schema in parameters.values() if isinstance(schema, dict)]
    return " ".join([*said, *parameters, *described])
