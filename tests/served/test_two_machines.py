"""Two `doorward serve`, each in a folder of its own as on two machines, that share a PostgreSQL database and nothing else:
what they have to decide together, they do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import anyio
import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, connected
from .test_budgets import CALLS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STORE = 'store = "postgres"\n'
RULE = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\nreason = "writes need a person"\n'


class Machines:
    """Projects of one configuration, with nothing in common but a schema of the database."""

    def __init__(self, folder: Path, database: str, config: str, names: Sequence[str] = ("one", "other")) -> None:
        url, schema = json.dumps(database), f"two_{folder.name}".lower().replace("-", "_")
        stored = f"[stores.postgres]\nurl = {url}\nschema_name = '{schema[:50]}'\n"
        self.each = [Forked(folder / name, STORE + config + stored) for name in names]

    @contextlib.contextmanager
    def urls(self) -> Iterator[list[str]]:
        with self.each[0].http() as (one, _), self.each[1].http() as (other, _):
            yield [one, other]

    @contextlib.asynccontextmanager
    async def agents(self) -> AsyncIterator[list[Agent]]:
        with self.urls() as urls:
            async with contextlib.AsyncExitStack() as stack:
                yield [await stack.enter_async_context(connected(url)) for url in urls]


async def test_a_budget_is_of_both_together(tmp_path: Path, postgres: str, api: Api) -> None:
    """Sixty calls a day, wherever they are made, from programs that make them at the same time."""
    config = LIMITS + SHELF.format(url=api.url) + '[[budgets]]\nserver = "shelf"\ncalls = 60\n'
    machines = Machines(tmp_path, postgres, config)
    made: list[int] = []

    async def run(agent: Agent) -> None:
        made.append((await agent.run(CALLS))["value"])

    async with machines.agents() as agents, anyio.create_task_group() as tasks:
        for agent in agents:
            tasks.start_soon(run, agent)
    async with machines.agents() as agents:  # what both gave back when they ended
        await run(agents[0])
    assert sum(made) == 60


async def test_runs_a_minute_are_of_both_together(tmp_path: Path, postgres: str) -> None:
    """Six, wherever they are begun."""
    async with Machines(tmp_path, postgres, "[limits]\nrate = 6\n").agents() as agents:
        ended = [await agents[number % 2].run("1") for number in range(8)]
    assert [each["ok"] for each in ended] == [True] * 6 + [False] * 2


async def test_a_result_of_one_is_read_at_the_other(tmp_path: Path, postgres: str) -> None:
    """All of a value that was cut, page by page and in a program; by its principal only, and not at all once there is
    no room for it."""
    async with Machines(tmp_path, postgres, '[limits]\nkept = "600KB"\n').agents() as agents:
        cut = (await agents[0].run("'ä' * 250_000"))["truncated"]
        uri, text = cut["rest"], ""
        while uri:
            page = (await agents[1].client.read_resource(uri)).contents[0]
            text += page.text.partition("\n[")[0]
            uri = (page.meta or {}).get("doorward/next")
        assert text == "ä" * 250_000
        assert await agents[1].value(f"import doorward\nlen(doorward.read({cut['rest']!r}))") == 250_000
        await agents[1].run("'b' * 300_000")
        gone = await agents[0].run(f"import doorward\nlen(doorward.read({cut['rest']!r}))")
        assert "there is no result" in gone["error"]["message"]


@pytest.mark.parametrize(
    "key", ["", 'vault_key = "a key of at least thirty-two characters"\n'], ids=["plain", "sealed"]
)
async def test_a_run_that_waits_at_one_goes_on_at_the_other(tmp_path: Path, postgres: str, api: Api, key: str) -> None:
    """`doorward approvals` lists it there, and `resume_run` finds it, which is the agent's next call."""
    machines = Machines(tmp_path, postgres, key + LIMITS + RULE + SHELF.format(url=api.url))
    async with machines.agents() as agents:
        waits = await agents[0].run("import shelf\nresult = shelf.create_item(itemName='far')['itemName']")
        listed = machines.each[1].run("approvals", "list", "--json")
        (request,) = json.loads(listed.stdout)["requests"]
        approved = machines.each[1].run("approvals", "approve", request["id"])
        assert approved.returncode == 0, approved.stderr
        done = await agents[1].call("resume_run", run=waits["waiting"]["run"])
        assert done["value"] == "far"
        assert (await agents[0].call("resume_run", run=waits["waiting"]["run"]))["value"] == "far"


KILLED = """
import shelf
made = [shelf.create_item(itemName="one")["itemName"]]
shelf.mark(name="killed-far")
shelf.slow(ms=3000)
made.append(shelf.create_item(itemName="two")["itemName"])
result = made
"""


async def test_a_run_whose_machine_died_goes_on_at_the_other(tmp_path: Path, postgres: str) -> None:
    """What it had written is not written again, and what it was answered is answered again."""
    log = tmp_path / "created"
    with Api(log) as api:
        config = LIMITS + '[runs]\ndurable = "always"\n' + SHELF.format(url=api.url)
        machines = Machines(tmp_path, postgres, config)
        with machines.each[0].http() as (one, process), machines.each[1].http() as (other, _):
            async with connected(other) as agent:
                with contextlib.suppress(Exception):
                    async with connected(one) as dying, anyio.create_task_group() as tasks:
                        tasks.start_soon(dying.run, KILLED)
                        assert await anyio.to_thread.run_sync(api.marked, "killed-far")
                        process.kill()
                        process.wait()
                listed = machines.each[1].run("runs", "list", "--json")
                (run,) = json.loads(listed.stdout)["runs"]
                assert run["state"] == "died"
                done = await agent.call("resume_run", run=run["run"])
                assert done["value"] == ["one", "two"], done
        assert [json.loads(line) for line in log.read_text().splitlines()] == ["one", "two"]
