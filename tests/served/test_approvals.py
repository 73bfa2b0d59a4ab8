"""Calls that a person must approve of, through the clients of both eras, by both transports, and the command line."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as t
import pytest

from .conftest import LIMITS, SHELF, WAYS
from .product import Agent, Api, Project, connected

pytestmark = pytest.mark.anyio

ADD = "import shelf\nresult = shelf.create_item(itemName=%r)"
ONCE, RUN = "approve once", "approve every call of this function in this run"


class Confirming(Project):
    """A project in which people confirm what changes anything."""

    def command(self, *words: str) -> list[str]:
        rule = str(Path(__file__).with_name("confirming.py"))
        return [sys.executable, rule, *words, "--config", str(self.file)]

    def requests(self, *options: str) -> list[dict[str, Any]]:
        listed = self.run("approvals", "list", "--json", *options)
        assert listed.returncode == 0, listed.stderr
        return list(json.loads(listed.stdout)["requests"])


@pytest.fixture(scope="module")
def confirming(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Confirming:
    project = Confirming(tmp_path_factory.mktemp("confirming"), LIMITS + SHELF.format(url=api.url))
    assert project.run("compile").returncode == 0
    return project


@pytest.fixture(scope="module")
def url(confirming: Confirming) -> Iterator[str]:
    with confirming.http() as (url, _):
        yield url


class Person:
    """Whoever uses the client: answers each question as `reply` does, and keeps them."""

    def __init__(self, reply: Callable[[Any], Any]) -> None:
        self.reply = reply
        self.asked: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> t.ElicitResult:
        self.asked.append(params)
        found = self.reply(params)
        return await found if hasattr(found, "__await__") else found


def says(answer: str) -> Person:
    return Person(lambda params: t.ElicitResult(action="accept", content={"answer": answer}))


@contextlib.asynccontextmanager
async def client(way: str, confirming: Confirming, url: str, person: Person | None = None) -> AsyncIterator[Agent]:
    transport, era = way.split("-")
    callbacks = {"elicitation_callback": person} if person else {}
    opened = confirming.stdio(era, **callbacks) if transport == "stdio" else connected(url, era, **callbacks)
    async with opened as agent:
        yield agent


@pytest.mark.parametrize("way", WAYS)
async def test_the_person_at_the_client_decides(way: str, confirming: Confirming, url: str) -> None:
    """They read the function, its arguments and the rule; yes lets the program go on, no is an exception in it."""
    async with client(way, confirming, url, yes := says(ONCE)) as agent:
        assert (await agent.value(ADD % "lamp"))["itemName"] == "lamp"
    async with client(way, confirming, url, no := says("deny")) as agent:
        answer = await agent.run(ADD % "lamp")
    assert "shelf.create_item was denied by" in answer["error"]["message"]
    (asked,) = yes.asked
    assert "wants to call shelf.create_item (write)" in asked.message
    assert '"itemName": "lamp"' in asked.message
    assert "[[policy.rules]] 1: writes need a person" in asked.message
    assert "   2 | result = shelf.create_item(itemName='lamp')" in asked.message
    assert len(no.asked) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_whose_client_cannot_be_asked_is_suspended(way: str, confirming: Confirming, url: str) -> None:
    """The agent is told at once for what it waits, and what it does next; a person finds the request."""
    async with client(way, confirming, url) as agent:
        answer = await agent.run(ADD % f"desk {way}")
    assert (answer["ok"], answer["waiting"]["for"]) == (False, "approval")
    assert "error" not in answer
    (what,) = answer["waiting"]["what"]
    (request,) = [each for each in confirming.requests() if f"desk {way}" in each["arguments"]]
    assert f"doorward approvals approve {request['id']}" in what
    assert request["run"] == answer["waiting"]["run"]
    assert "waits (approval) and is suspended" in agent.text


@pytest.mark.parametrize("way", WAYS)
async def test_an_operator_answers_while_the_client_is_asked(way: str, confirming: Confirming, url: str) -> None:
    """Whichever answers first: the run goes on as soon as another process has said yes."""
    answered = anyio.Event()

    async def think() -> t.ElicitResult:
        (request,) = [each for each in confirming.requests() if f"sofa {way}" in each["arguments"]]
        done = await anyio.to_thread.run_sync(confirming.run, "approvals", "approve", request["id"], "--by", "ops")
        assert done.returncode == 0, done.stderr
        answered.set()
        await anyio.sleep(1.5)  # the run is over by then, whatever this person says
        return t.ElicitResult(action="decline")

    async with client(way, confirming, url, Person(lambda params: think())) as agent:
        assert (await agent.value(ADD % f"sofa {way}"))["itemName"] == f"sofa {way}"
    assert answered.is_set()
    (request,) = [each for each in confirming.requests("--all") if f"sofa {way}" in each["arguments"]]
    assert (request["state"], request["by"]) == ("used", "ops")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "lie",
    [
        t.ElicitResult(action="accept"),
        t.ElicitResult(action="accept", content={"answer": "always"}),
        t.ElicitResult(action="accept", content={"answer": True, "approve": ONCE}),
        t.ElicitResult(action="cancel", content={"answer": ONCE}),
    ],
)
async def test_a_client_that_lies_approves_nothing(way: str, lie: Any, confirming: Confirming, url: str) -> None:
    async with client(way, confirming, url, Person(lambda params: lie)) as agent:
        answer = await agent.run(ADD % "safe")
    assert answer["waiting"]["for"] == "approval", answer


async def test_no_tool_of_an_agent_approves(confirming: Confirming, url: str) -> None:
    """The agent is told the id of its request, and has no way to answer it."""
    async with client("http-auto", confirming, url) as agent:
        tools = await agent.client.list_tools()
    assert not [tool.name for tool in tools.tools if "appro" in tool.model_dump_json().lower()]


async def test_a_yes_for_the_run(confirming: Confirming, url: str) -> None:
    """One question for a loop."""
    code = "import shelf\nresult = [shelf.create_item(itemName=str(n))['itemName'] for n in range(5)]"
    async with client("http-auto", confirming, url, person := says(RUN)) as agent:
        assert await agent.value(code) == ["0", "1", "2", "3", "4"]
    assert len(person.asked) == 1


async def test_the_command_line(confirming: Confirming, url: str) -> None:
    """`show` has what a person needs to decide; an answer is given once, and there is none to what does not exist."""
    async with client("http-auto", confirming, url) as agent:
        await agent.run(ADD % "odd\x1b[31m\u202ename")
    (request,) = [each for each in confirming.requests() if "odd" in each["arguments"]]
    shown = confirming.run("approvals", "show", request["id"])
    assert shown.returncode == 0, shown.stderr
    assert r'"itemName": "odd\u001b[31m\u202ename"' in shown.stdout
    assert "\x1b" not in shown.stdout
    assert f"doorward approvals approve {request['id']} [--for once|run]" in shown.stdout
    denied = confirming.run("approvals", "deny", request["id"], "--reason", "no such names", "--by", "ops")
    assert (denied.returncode, denied.stdout.split(":")[0]) == (0, "denied")
    late = confirming.run("approvals", "approve", request["id"])
    assert (late.returncode, "answered already: denied by ops" in late.stderr) == (1, True)
    unknown = confirming.run("approvals", "approve", "0000")
    assert (unknown.returncode, "there is no request '0000'" in unknown.stderr) == (1, True)
