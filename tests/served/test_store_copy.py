"""A full installation is copied from SQLite to PostgreSQL and back."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, connected

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RULE = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\nreason = "writes need a person"\n'
BUDGET = '[[budgets]]\nserver = "shelf"\ncalls = 60\n'
READS = "import shelf\nn = 1\nresult = shelf.list_items()"
WRITES = "import shelf\nresult = shelf.create_item(itemName='far')['itemName']"


def _copied(project: Forked, source: str, target: str) -> dict[str, int]:
    ended = project.run("store", "copy", source, target, "--json")
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return dict(json.loads(ended.stdout))


def _rows(file: Path) -> dict[str, list[Any]]:
    """All that a SQLite store holds, apart from versions, and from when it ends to the minute."""
    about = {
        "records": "SELECT kind, key, value, expires IS NULL FROM records",
        "entries": "SELECT log, position, content FROM entries",
        "blobs": "SELECT name, part, content, size, expires IS NULL FROM blobs",
    }
    db = sqlite3.connect(file)
    try:
        return {table: sorted(db.execute(statement).fetchall()) for table, statement in about.items()}
    finally:
        db.close()


async def test_there_and_back(tmp_path: Path, postgres: str, api: Api) -> None:
    """Kept programs, results, budgets, requests for approval: each row comes back as it was; and from the database, and
    from the file that was copied back, everything goes on."""
    schema = f"copy_{tmp_path.name}".lower().replace("-", "_")[:50]
    tables = f"[stores.postgres]\nurl = {json.dumps(postgres)}\nschema_name = '{schema}'\n"
    config = LIMITS + RULE + SHELF.format(url=api.url) + BUDGET + tables
    project = Forked(tmp_path / "one", config)

    async def with_agent(use: Any) -> Any:
        with project.http() as (url, _):
            async with connected(url) as agent:
                return await use(agent)

    async def work(agent: Agent) -> tuple[str, str]:
        kept = await agent.run(READS)
        cut = await agent.run("'ä' * 400_000")
        waits = await agent.run(WRITES)
        assert waits["waiting"]["for"] == "approval"
        return kept["cache_id"], cut["truncated"]["rest"]

    cache_id, uri = await with_agent(work)
    (file,) = tmp_path.rglob("store.db")
    before = _rows(file)
    counts = _copied(project, "sqlite", "postgres")
    assert counts == _copied(project, "sqlite", "postgres"), "a copy may be repeated"
    assert sum(counts[what] for what in counts if what.startswith("records")) == len(before["records"])
    assert counts["blobs"] == len({row[0] for row in before["blobs"]})
    assert json.loads(project.run("store", "check", "postgres", "--json").stdout) == counts
    file.rename(file.with_name("before.db"))
    for rest in ("-wal", "-shm"):
        file.with_name(file.name + rest).unlink(missing_ok=True)
    assert _copied(project, "postgres", "sqlite") == counts
    assert _rows(file) == before

    async def goes_on(agent: Agent) -> None:
        again = await agent.call("run_cached_code", cache_id=cache_id)
        assert again["ok"], again
        assert await agent.value(f"import doorward\nlen(doorward.read({uri!r}))") == 400_000

    for store in ("postgres", "sqlite"):
        project.configure(f'store = "{store}"\n' + config)
        await with_agent(goes_on)
        (request,) = json.loads(project.run("approvals", "list", "--json").stdout)["requests"]
        assert request["function"] == "shelf.create_item"
    refused = project.run("store", "copy", "postgres", "sqlite")
    assert "other rows" in refused.stderr, "both have gone on"
