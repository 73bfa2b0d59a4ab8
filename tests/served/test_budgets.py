"""Budgets, as agents meet them: over real clients, in several processes at once."""

from __future__ import annotations

import anyio
import pytest

from .forked import project
from .product import Project

__all__ = ["project"]

pytestmark = pytest.mark.anyio

CALLS = """
import shelf
made = 0
for n in range(40):
    try:
        shelf.list_items(page=1)
        made += 1
    except Exception as error:
        print(error)
        break
result = made
"""


async def test_processes_that_race_make_no_call_too_many(project: Project) -> None:
    """Three servers on one state folder and a budget of 60 calls: 60 are made, and the agents read why not more. CONTRACT:
    SEC-09."""
    project.change(last='[[budgets]]\nserver = "shelf"\ncalls = 60\n')
    made: list[int] = []
    printed: list[str] = []

    async def work() -> None:
        async with project.stdio() as agent:
            answer = await agent.run(CALLS)
            made.append(answer["value"])
            printed.append(answer.get("printed", ""))  # whoever came first may have made all of its calls

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(work)
    async with project.stdio() as agent:  # what the three gave back when they ended
        made.append((await agent.run(CALLS))["value"])
    assert sum(made) == 60
    assert any("the budget of 'local' is used up: 60 calls of shelf a day" in text for text in printed)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_no_run_begins_without_a_budget(project: Project, era: str) -> None:
    """The agent reads when it is renewed."""
    project.change(last="[[budgets]]\nruns = 2\nper = 'hour'\n")
    async with project.stdio(era) as agent:
        assert await agent.value("1 + 1") == 2
        assert await agent.value("1 + 2") == 3
        refused = await agent.run("1 + 3")
        assert refused["error"]["kind"] == "limit"
        assert "2 runs an hour" in agent.text
        assert "It is renewed at" in agent.text
