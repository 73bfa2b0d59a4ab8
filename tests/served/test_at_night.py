"""What docs/operators.md says of three in the morning, as it happens to a client and to whoever is called out."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked, project
from .product import Api, Project

__all__ = ["project"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PAGE = Path(__file__).resolve().parents[2] / "docs/operators.md"
RULE = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\n'
ADD = "import shelf\nshelf.create_item(itemName='lamp')['itemName']"


def told() -> list[str]:
    """The messages in the table of the page, from the first column."""
    table = PAGE.read_text(encoding="utf-8").partition("\n## At three")[2]
    return re.findall(r"`([^`]+)`", "\n".join(row.split(" | ")[0] for row in table.splitlines()[4:]))


def assert_told(said: str) -> None:
    """What somebody read stands in the table."""
    patterns = (".*".join(map(re.escape, message.split("…"))) for message in told())
    assert any(re.search(pattern, said) for pattern in patterns), f"{said}\n\nis not in {told()}"


@pytest.fixture
def ruled(tmp_path: Path, api: Api) -> Project:
    """Writes are confirmed; what is stored is encrypted."""
    config = LIMITS + RULE + SHELF.format(url=api.url)
    project = Forked(tmp_path, config, {"VAULT_KEY": "the first key, of many characters"})
    project.change(first='vault_key = "${VAULT_KEY}"\n')
    return project


def requests(project: Project) -> list[dict[str, Any]]:
    return list(json.loads(project.run("approvals", "list", "--json").stdout)["requests"])


def written(api: Api) -> int:
    return sum(each["path"] == "/items" for each in api.seen())


async def test_requests_that_are_lost_are_asked_for_again(ruled: Project, api: Api) -> None:
    """A yes that is gone lets nothing through."""
    before = written(api)
    async with ruled.stdio() as agent:
        run = (await agent.run(ADD))["waiting"]["run"]
    (first,) = requests(ruled)
    assert ruled.run("approvals", "approve", first["id"]).returncode == 0
    with contextlib.closing(sqlite3.connect(ruled.state / "store.db")) as db, db:
        db.execute("DELETE FROM records WHERE kind = 'approvals'")
    async with ruled.stdio() as agent:
        assert (await agent.call("resume_run", run=run))["waiting"]["for"] == "approval"
        (second,) = requests(ruled)
        assert (second["id"] != first["id"], written(api)) == (True, before)
        assert ruled.run("approvals", "approve", second["id"]).returncode == 0
        assert (await agent.call("resume_run", run=run))["value"] == "lamp"
    assert written(api) == before + 1


@pytest.mark.parametrize("lost", ["removed", "broken"])
async def test_a_store_that_is_lost_costs_runs_and_approvals(ruled: Project, api: Api, lost: str) -> None:
    """The program is run again, and asks again."""
    before = written(api)
    async with ruled.stdio() as agent:
        run = (await agent.run(ADD))["waiting"]["run"]
    (first,) = requests(ruled)
    assert ruled.run("approvals", "approve", first["id"]).returncode == 0
    for file in ruled.state.glob("store.db*"):
        file.unlink()
    if lost == "broken":
        (ruled.state / "store.db").write_text("no database")
    async with ruled.stdio() as agent:
        assert (await agent.call("resume_run", run=run))["error"]["type"] == "UnknownName"
        run = (await agent.run(ADD))["waiting"]["run"]
        (second,) = requests(ruled)
        assert (second["id"] != first["id"], written(api)) == (True, before)
        assert (ruled.state / "store.db.broken").exists() is (lost == "broken")
        assert ruled.run("approvals", "approve", second["id"]).returncode == 0
        assert (await agent.call("resume_run", run=run))["value"] == "lamp"
    assert written(api) == before + 1


async def test_a_key_that_is_lost_costs_the_runs_it_sealed(ruled: Project) -> None:
    """They are told to operators, refused to clients, and others wait as before."""
    async with ruled.stdio() as agent:
        run = (await agent.run(ADD))["waiting"]["run"]
    ruled.env["VAULT_KEY"] = "another key, of many characters"
    assert "cannot be read: 1" in ruled.run("runs", "list").stderr
    assert_told(ruled.run("runs", "show", run).stderr)
    async with ruled.stdio() as agent:
        assert_told((await agent.call("resume_run", run=run))["error"]["message"])
        assert (await agent.run(ADD))["waiting"]["run"] != run


async def test_a_chain_that_is_broken_begins_anew(ruled: Project) -> None:
    """Once log, key and head are moved away."""
    async with ruled.stdio() as agent:
        await agent.value("1 + 1")
    log = ruled.state / "doorward.audit.jsonl"
    log.write_text(log.read_text().replace('"local"', '"nobody"', 1))
    verified = ruled.run("audit", "verify")
    assert verified.returncode == 1
    assert_told(verified.stdout)
    for file in ruled.state.glob("doorward.audit.jsonl*"):
        file.rename(ruled.folder / file.name)
    async with ruled.stdio() as agent:
        await agent.value("1 + 1")
    assert ruled.run("audit", "verify").returncode == 0
    copy = str(ruled.folder / log.name)
    assert ruled.run("audit", "verify", "--log", copy).returncode == 1, "what is kept can still be looked at"


async def test_an_api_that_is_down_is_found_and_comes_back(ruled: Project) -> None:
    """Its functions stay, only calls fail, and nothing has to be restarted."""
    with Api() as api:
        ruled.change(SHELF.partition("\n[")[0], "", last=SHELF.format(url=api.url).replace("shelf", "away"))
        async with ruled.stdio() as agent:
            assert (await agent.value("import away\naway.get_item(id=3)['id']")) == 3
            api.kill()
            failed = await agent.run("import away\naway.get_item(id=3)")
            assert_told(failed["error"]["message"])
            found = await agent.call("search_functions", query="get item", server="away")
            assert found["functions"][0]["function"] == "away.get_item"
            api.start()
            assert (await agent.value("import away\naway.get_item(id=3)['id']")) == 3


async def test_a_journal_that_cannot_be_written(project: Project, api: Api, small_disk: Any) -> None:
    """The call is not made, the agent is told why, and the next run goes on when there is room."""
    project.change('state = "state"\n', f'state = "{small_disk.folder}/state"\nruns.durable = "always"\n')
    async with project.stdio() as agent:
        assert await agent.value("import shelf\nshelf.get_item(id=3)['id']") == 3
        with small_disk.full():
            for _ in range(20):  # what was not yet done at the start may free some room
                before = written(api)
                if not (refused := await agent.run(f"{ADD}\n#{'x' * 50_000}"))["ok"]:
                    break
                small_disk.fill()
        assert_told(refused["error"]["message"])
        assert "disk" in refused["error"]["hint"]
        assert written(api) == before
        assert await agent.value(ADD) == "lamp"
