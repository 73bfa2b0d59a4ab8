"""Two `doorward serve` in one state folder, behind one address: what one has begun, the other goes on with, or says that
it cannot."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import mcp_types as t
import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, apart, connected

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RULE = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\nreason = "writes need a person"\n'
ONCE = {"answer": "approve once"}


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the API notes what is created."""
    return tmp_path_factory.mktemp("two") / "created"


@contextlib.contextmanager
def twice(folder: Path, config: str) -> Iterator[tuple[str, str]]:
    """The URLs of two servers of one project."""
    project = Forked(folder, config)
    with project.http() as (first, _), project.http() as (second, _):
        yield first, second


@pytest.fixture(scope="module")
def two(created: Path) -> Iterator[tuple[str, str]]:
    with Api(created) as api, twice(created.parent, LIMITS + RULE + SHELF.format(url=api.url)) as urls:
        yield urls


async def person(context: Any, params: Any) -> t.ElicitResult:
    raise AssertionError("the test answers")


@contextlib.asynccontextmanager
async def clients(urls: Iterable[str]) -> AsyncIterator[list[Agent]]:
    """A client of each."""
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connected(url, elicitation_callback=person)) for url in urls]


@pytest.fixture
async def both(two: tuple[str, str]) -> AsyncIterator[list[Agent]]:
    async with apart(clients(two)) as agents:
        yield agents


async def ask(agent: Agent, code: str, **answered: Any) -> Any:
    return await agent.client.session.call_tool("execute_code", {"code": code}, allow_input_required=True, **answered)


async def test_what_one_asks_is_answered_at_the_other(both: list[Agent], created: Path) -> None:
    """A write that a person approves of: it is made once, by the process that gets the answer; the state cannot be
    used again at either."""
    code = "import shelf\nresult = shelf.create_item(itemName='of two')['itemName']"
    asked = await ask(both[0], code)
    ((key, question),) = asked.input_requests.items()
    assert "wants to call shelf.create_item" in question.params.message
    answered = {
        "input_responses": {key: t.ElicitResult(action="accept", content=ONCE)},
        "request_state": asked.request_state,
    }
    done = await ask(both[1], code, **answered)
    assert done.structured_content["value"] == "of two"
    for agent in both:
        again = await ask(agent, code, **answered)
        assert "has been answered already" in again.content[0].text
    assert created.read_text().splitlines() == ['"of two"']


async def test_what_only_one_has_is_said_by_the_other(both: list[Agent]) -> None:
    """A session is of one process; a large result is of both."""
    session = (await both[0].run("x = 1", session_id="new"))["session_id"]
    elsewhere = await both[1].run("x", session_id=session)
    assert "another process" in f"{elsewhere['error']['message']} {elsewhere['error']['hint']}"
    assert await both[0].value("x", session_id=session) == 1
    large = await both[0].run("result = ['x' * 100] * 50_000")
    assert "xxx" in str(await both[1].value(f"import doorward\n{large['truncated']['read']}"))


async def test_limits_are_of_both_together(tmp_path: Path) -> None:
    """Six runs a minute, wherever they are begun."""
    with twice(tmp_path, "[limits]\nrate = 6\n") as urls:
        async with clients(urls) as both:
            ended = [await both[number % 2].run("1") for number in range(8)]
    assert [each["ok"] for each in ended] == [True] * 6 + [False] * 2
    assert "6" in ended[-1]["error"]["message"]
