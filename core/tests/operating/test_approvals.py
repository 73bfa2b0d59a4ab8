"""`doorward approvals`: whoever answers is told how the run goes on."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from doorward.approvals.sqlite_approvals import SqliteApprovals

from ..approvals.conftest import Person, confirming
from ..conftest import CONFIG, Cli

pytestmark = pytest.mark.slow

__all__ = ["confirming"]

ADD = "result = await weather.add_station(city='Oslo')"
TWO = "import asyncio\nawait asyncio.gather(*[weather.add_station(city=c) for c in 'ab'])"


def waiting(doorward_host: Any, code: str, **how: Any) -> str:
    """The id of a run that waits."""

    async def run() -> str:
        async with doorward_host.gateway(CONFIG) as gate:
            return str((await gate.execute(code, **how)).waiting.run)

    return anyio.run(run)


def test_a_suspended_run_is_resumed(cli: Cli, doorward_host: Any) -> None:
    """By the agent or by the operator, whether the answer is yes or no; afterwards it is over."""
    for word in ("approve", "deny"):
        run = waiting(doorward_host, ADD)
        (request,) = cli("approvals", "list", "--json").json["requests"]
        told = cli("approvals", word, request["id"]).out
        assert f'next: the agent calls resume_run("{run}"), or an operator: doorward runs resume {run}\n' in told
        cli("runs", "resume", run)


def test_others_of_the_run_are_open(cli: Cli, doorward_host: Any) -> None:
    """One answer of two is not enough; with `--json`, too."""
    run = waiting(doorward_host, TWO)
    first, second = cli("approvals", "list", "--json").json["requests"]
    told = cli("approvals", "approve", first["id"], "--json").json
    assert told["next"] == f"1 more of run {run} wait for an answer: doorward approvals show --run {run}"
    assert "resume_run" in cli("approvals", "approve", "--run", run, "--yes").out
    assert second["run"] == run


@pytest.mark.parametrize("session", ["", "new"])
def test_a_client_that_waits_goes_on_by_itself(cli: Cli, doorward_host: Any, session: str) -> None:
    """Nobody has to do anything for a run that is not suspended."""
    answered: list[str] = []

    async def think() -> dict[str, str]:
        (request,) = SqliteApprovals(doorward_host.folder / "state" / "approvals.db").all(0.0)
        answered.append((await anyio.to_thread.run_sync(cli, "approvals", "approve", request.id)).out)
        return {"action": "cancel"}

    async def run() -> Any:
        async with doorward_host.gateway(CONFIG) as gate:
            return await gate.execute(ADD, client=Person(lambda question: think()), session_id=session)

    assert anyio.run(run).ok
    assert "next: a client that waits goes on by itself" in answered[0]
