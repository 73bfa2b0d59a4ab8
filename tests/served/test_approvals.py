"""Calls that a person must approve of, through the clients of both eras, by both transports, and the command line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as t
import pytest

from .conftest import LIMITS, SHELF, WAYS
from .forked import Forked
from .product import Agent, Api, apart, connected

pytestmark = pytest.mark.anyio

RULE = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\nreason = "writes need a person"\n'
ADD = "import shelf\nresult = shelf.create_item(itemName=%r)"
ONCE, RUN = "approve once", "approve every call of this function in this run"


class Confirming(Forked):
    """A project in which people confirm what changes anything."""

    def requests(self, *options: str) -> list[dict[str, Any]]:
        listed = self.run("approvals", "list", "--json", *options)
        assert listed.returncode == 0, listed.stderr
        return list(json.loads(listed.stdout)["requests"])


@pytest.fixture(scope="module")
def confirming(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Confirming:
    return Confirming(tmp_path_factory.mktemp("confirming"), LIMITS + RULE + SHELF.format(url=api.url))


@pytest.fixture(scope="module")
def url(confirming: Confirming) -> Iterator[str]:
    with confirming.http() as (url, _):
        yield url


class Person:
    """Whoever uses the client: answers each question as `reply` does, and keeps them."""

    def __init__(self) -> None:
        self.reply: Callable[[Any], Any] = lambda params: t.ElicitResult(action="cancel")
        self.asked: list[Any] = []

    def replies(self, reply: Callable[[Any], Any]) -> None:
        """From now on, as this does."""
        self.reply, self.asked = reply, []

    def answers(self, answer: t.ElicitResult) -> None:
        self.replies(lambda params: answer)

    def says(self, answer: str) -> None:
        self.answers(t.ElicitResult(action="accept", content={"answer": answer}))

    async def __call__(self, context: Any, params: Any) -> t.ElicitResult:
        self.asked.append(params)
        found = self.reply(params)
        return await found if hasattr(found, "__await__") else found


def client(
    way: str, confirming: Confirming, url: str, person: Person | None = None
) -> contextlib.AbstractAsyncContextManager[Agent]:
    transport, era = way.split("-")
    callbacks = {"elicitation_callback": person} if person else {}
    return confirming.stdio(era, **callbacks) if transport == "stdio" else connected(url, era, **callbacks)


@dataclass
class Asked:
    """A client in one of the ways, with whoever uses it."""

    way: str
    agent: Agent
    person: Person


@pytest.fixture(scope="module", params=WAYS)
async def asked(request: Any, anyio_backend: str, confirming: Confirming, url: str) -> AsyncIterator[Asked]:
    person = Person()
    async with apart(client(request.param, confirming, url, person)) as agent:
        yield Asked(request.param, agent, person)


async def test_the_person_at_the_client_decides(asked: Asked) -> None:
    """They read the function, its arguments and the rule; yes lets the program go on, no is an exception in it."""
    asked.person.says("deny")
    answer = await asked.agent.run(ADD % "lamp")
    assert "shelf.create_item was denied by" in answer["error"]["message"]
    assert len(asked.person.asked) == 1
    asked.person.says(ONCE)
    assert (await asked.agent.value(ADD % "lamp"))["itemName"] == "lamp"
    (question,) = asked.person.asked
    assert "wants to call shelf.create_item (write)" in question.message
    assert '"itemName": "lamp"' in question.message
    assert "[[policy.rules]] 1: writes need a person" in question.message
    assert "   2 | result = shelf.create_item(itemName='lamp')" in question.message


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


async def test_an_operator_answers_while_the_client_is_asked(asked: Asked, confirming: Confirming) -> None:
    """Whichever answers first: the run goes on as soon as another process has said yes."""
    name = f"sofa {asked.way}"

    async def think() -> t.ElicitResult:
        (request,) = [each for each in confirming.requests() if name in each["arguments"]]
        done = await anyio.to_thread.run_sync(confirming.run, "approvals", "approve", request["id"], "--by", "ops")
        assert done.returncode == 0, done.stderr
        await anyio.sleep(1.5)  # the run is over by then, whatever this person says
        return t.ElicitResult(action="decline")

    asked.person.replies(lambda params: think())
    assert (await asked.agent.value(ADD % name))["itemName"] == name
    (request,) = [each for each in confirming.requests("--all") if name in each["arguments"]]
    assert (request["state"], request["by"]) == ("used", "ops")


LIES = [
    t.ElicitResult(action="accept"),
    t.ElicitResult(action="accept", content={"answer": "always"}),
    t.ElicitResult(action="accept", content={"answer": True, "approve": ONCE}),
    t.ElicitResult(action="cancel", content={"answer": ONCE}),
]


async def test_a_client_that_lies_approves_nothing(asked: Asked) -> None:
    for lie in LIES:
        asked.person.answers(lie)
        answer = await asked.agent.run(ADD % "safe")
        assert answer["waiting"]["for"] == "approval", (answer, lie)


async def test_no_tool_of_an_agent_approves(confirming: Confirming, url: str) -> None:
    """The agent is told the id of its request, and has no way to answer it."""
    async with client("http-auto", confirming, url) as agent:
        tools = await agent.client.list_tools()
    assert not [tool.name for tool in tools.tools if "appro" in tool.model_dump_json().lower()]


async def test_a_yes_for_the_run(confirming: Confirming, url: str) -> None:
    """One question for a loop."""
    code = "import shelf\nresult = [shelf.create_item(itemName=str(n))['itemName'] for n in range(5)]"
    (person := Person()).says(RUN)
    async with client("http-auto", confirming, url, person) as agent:
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
