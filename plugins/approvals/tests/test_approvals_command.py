"""`doorward approvals`: whoever answers is told how the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest
from doorward import Capabilities
from doorward_approvals.conformance import requests_in
from doorward_durable_runs import STORED_RUNS
from doorward_testing import Cli
from doorward_testing.samples import CONFIG as WEATHER
from doorward_testing.samples import InProcess
from doorward_text import outcome_as_text

pytestmark = pytest.mark.slow

CONFIG = WEATHER + '[[policy.rules]]\nclass = "write"\nthen = "confirm"\nreason = "writes need a person"\n'


class PlansInProcess(InProcess):
    """Plans programs that do not look at what their writes answer."""

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans=True)


class Person:
    """The client of a run, whose person answers as `reply` says of the question."""

    def __init__(self, reply: Callable[[Mapping[str, Any]], Any]) -> None:
        self.reply = reply

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        assert method == "elicitation/create"
        return await self.reply(params)


ADD = "result = await weather.add_station(city='Oslo')"
TWO = "import asyncio\nawait asyncio.gather(*[weather.add_station(city=c) for c in 'ab'])"


def waiting(doorward_host: Any, code: str, **how: Any) -> str:
    """The id of a run that waits."""

    async def run() -> str:
        async with doorward_host.gateway(CONFIG) as gate:
            return str((await gate.execute(code, **how)).waiting.run)

    return anyio.run(run)


def test_a_yes_counts_after_the_key_was_changed(cli: Cli, doorward_host: Any) -> None:
    """Once, whether it was given before or after; without the key before, requests are told to be there, and no call is
    let through."""
    old, new = 'vault_key = "the old key, of many characters"\n', 'vault_key = "the new key, of many characters"\n'
    both = new + old.replace("vault_key", "vault_key_before") + CONFIG

    async def asked() -> list[str]:
        async with doorward_host.gateway(old + CONFIG) as gate:
            return [(await gate.execute(ADD.replace("Oslo", city))).waiting.run for city in ("Oslo", "Rome")]

    async def resumed(runs: list[str]) -> None:
        async with doorward_host.gateway(both) as gate:
            for run, city in zip(runs, ("Oslo", "Rome"), strict=True):
                assert (await gate.services[STORED_RUNS].resume(run)).value["city"] == city
            assert (await gate.execute(ADD)).waiting

    runs = anyio.run(asked)
    first, second = (each["id"] for each in cli("approvals", "list", "--json").json["requests"])
    assert cli("approvals", "approve", first).code == 0
    doorward_host.write(new + CONFIG)
    assert "cannot be read: 2, stored with another `vault_key`" in cli("approvals", "list").err
    assert cli("approvals", "list", "--json").json == {"requests": [], "unread": 2}
    doorward_host.write(both)
    assert cli("approvals", "approve", second).code == 0
    anyio.run(resumed, runs)


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


LOOP = "result = []\nfor city in 'abc':\n    result.append((await weather.add_station(city=city))['city'])"


def test_a_loop_says_how_one_answer_is_enough(cli: Cli, doorward_host: Any) -> None:
    """The command that it names lets all later calls of the run through; a plan is named where one can be made."""

    async def run(config: str) -> Any:
        async with doorward_host.gateway(config) as gate:
            return await gate.execute(LOOP)

    outcome = anyio.run(run, CONFIG)
    id = outcome.waiting.run
    (note,) = outcome.notes
    assert note == (
        "a loop waits anew at each call that needs a yes; one answer is enough if the person says "
        f"`doorward approvals approve --run {id} --for run`"
    )
    assert f"note: {note}" in outcome_as_text(outcome)
    cli("approvals", "approve", "--run", id, "--for", "run", "--yes")
    assert cli("runs", "resume", id, "--json").json["value"] == ["a", "b", "c"]
    doorward_host.install("executor", "plans", PlansInProcess)
    planning = CONFIG.replace('"inprocess"', '["inprocess", "plans"]')
    assert anyio.run(run, planning).notes[1:] == (
        'a person is asked once for all that a program writes, if it is run with mode="plan"',
    )
    (note,) = anyio.run(run, planning + "[plans]\nenabled = false\n").notes
    assert "plan" not in note


@pytest.mark.parametrize("session", ["", "new"])
def test_a_client_that_waits_goes_on_by_itself(cli: Cli, doorward_host: Any, session: str) -> None:
    """Nobody has to do anything for a run that is not suspended."""
    answered: list[str] = []

    async def think() -> dict[str, str]:
        (request,) = requests_in(doorward_host.folder / "state")
        answered.append((await anyio.to_thread.run_sync(cli, "approvals", "approve", request.id)).out)
        return {"action": "cancel"}

    async def run() -> Any:
        async with doorward_host.gateway(CONFIG) as gate:
            return await gate.execute(ADD, client=Person(lambda question: think()), session_id=session)

    assert anyio.run(run).ok
    assert "next: a client that waits goes on by itself" in answered[0]


def test_it_reads_its_env_file(cli: Cli, doorward_host: Any) -> None:
    """A value of the configuration comes from the file that `--env-file` names, and from no other; that it is not there
    is an error. CONTRACT: CLI-03."""
    doorward_host.write(CONFIG)
    (doorward_host.folder / "bad.env").write_text("DOORWARD_LIMITS__TIMEOUT=soon\n")
    (doorward_host.folder / ".env").write_text("DOORWARD_SURFACE=wrong\n")
    ended = cli("approvals", "list", "--env-file", "bad.env")
    assert "DOORWARD_LIMITS__TIMEOUT: limits.timeout" in ended.out + ended.err
    assert "DOORWARD_SURFACE" not in ended.out + ended.err
    ended = cli("approvals", "list", "--env-file", "nope.env")
    assert (ended.code, "nope.env" in ended.err) == (2, True)
