"""Many who resume the same run, commit the same plan or answer the same request at once, in several processes: each
write goes out once, and everybody else is told what to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as t
import pytest
from doorward.model.errors import DoorwardError
from doorward_approvals.conformance import answer_in, requests_in

from .evasion import Bank, banking
from .planning import Desk, made
from .product import Agent, Project, connected, web
from .test_evasion_approvals import CONFIRM, payments

pytestmark = pytest.mark.anyio
PAY = """
import asyncio, bank
read = bank.get_account(id=5)
done = await asyncio.gather(*[bank.make_payment(amount=n) for n in (1, 2, 3)])
result = len(done)
"""


@asynccontextmanager
async def agents(project: Project) -> AsyncIterator[list[Agent]]:
    """Clients of both eras, of one server."""
    with project.http() as (url, _):
        async with connected(url, "auto") as new, connected(url, "legacy") as old:
            yield [new, old]


async def at_once(agents: list[Agent], times: int, tool: str, **arguments: str) -> list[dict[str, Any]]:
    return await asyncio.gather(*(agents[n % len(agents)].call(tool, **arguments) for n in range(times)))


async def command(project: Project, *words: str) -> dict[str, Any]:
    return json.loads((await asyncio.to_thread(project.run, *words, "--json")).stdout)


@pytest.fixture
def paying(tmp_path: Path) -> Iterator[Project]:
    """Payments, each of which needs a yes."""
    Bank.ledger.clear()
    with web(Bank) as url:
        yield banking(tmp_path, url, CONFIRM)


def approve_all(project: Project) -> None:
    for request in requests_in(project.state):
        if request.state == "open":
            answer_in(project.state, request.id, True)


async def test_a_run_is_resumed_once(paying: Project) -> None:
    """By 30 at a time, in three processes: it pays once. Who comes too late gets its outcome, or is told to ask again."""
    async with paying.stdio() as agent:
        run = (await agent.run(PAY))["waiting"]["run"]
        while len(requests_in(paying.state)) < 3:  # on a busy machine its calls may come one after the other
            approve_all(paying)
            assert (await agent.call("resume_run", run=run))["waiting"]
        approve_all(paying)
    async with agents(paying) as clients:
        told, ended = await asyncio.gather(
            at_once(clients, 28, "resume_run", run=run),
            asyncio.gather(*(command(paying, "runs", "resume", run) for _ in range(2))),
        )
        again = await at_once(clients, 4, "resume_run", run=run)
    assert not [each for each in (*told, *ended) if not each["ok"] and not each.get("error")]
    late = [each["error"]["hint"] for each in (*told, *ended) if not each["ok"]]
    assert set(late) <= {"Ask again in a moment: then it has ended, or waits."}
    assert len(late) < 30
    assert [each["value"] for each in again] == [3] * 4
    assert sorted(payments(Bank.ledger)) == [1, 2, 3]


async def test_a_plan_is_committed_once(tmp_path: Path) -> None:
    """By 30 at a time. Who comes too late is told by which call they get to know what came of it."""
    Desk.begin()
    with web(Desk) as url:
        project = made(tmp_path, url, executor="monty")
        code = "import desk\nn = desk.get_issue(n=1)['n']\nfor at in range(3):\n    desk.add_issue(title=f't{at}', about=n)"
        async with agents(project) as clients:
            id = (await clients[0].run(code, mode="plan"))["plan"]["id"]
            told = await at_once(clients, 30, "commit_plan", plan=id)
            again = await at_once(clients, 4, "resume_run", run=id)
    assert [asked["title"] for _, asked in Desk.written] == ["t0", "t1", "t2"]
    assert all(each["ok"] for each in again), again
    late = {each["error"]["hint"].partition(" ")[0] for each in told if not each["ok"]}
    assert late <= {"Ask", f'resume_run("{id}")'}
    assert len([each for each in told if each["ok"]]) == 1


async def test_two_answers_are_one(paying: Project) -> None:
    """A person at the client and operators answer otherwise at the same time: one of them is heard, and once."""

    async def person(context: Any, params: Any) -> t.ElicitResult:
        (request,) = [each for each in requests_in(paying.state) if each.state == "open"]
        said = await asyncio.gather(
            *(asyncio.to_thread(answering, request.id, n % 2 == 0) for n in range(6)), return_exceptions=True
        )
        heard.append(sum(each is True for each in said))
        return t.ElicitResult(action="accept", content={"answer": "deny"})

    def answering(id: str, yes: bool) -> bool:
        try:
            answer_in(paying.state, id, yes)
        except DoorwardError:
            return False
        return True

    heard: list[int] = []
    async with paying.stdio(elicitation_callback=person) as agent:
        said = await agent.run("import bank\nbank.make_payment(amount=1)")
    assert heard == [1]
    assert payments(Bank.ledger) == [1] * said["ok"]
    (request,) = requests_in(paying.state)
    assert request.state == ("used" if said["ok"] else "denied")
