"""`surface = "calls"` by every transport and era: an agent that writes no code does its work by what the texts say."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS, SHELF, WAYS
from .forked import Forked
from .product import Agent, Api, Project, apart, connected

pytestmark = pytest.mark.anyio

CALL = re.compile(r"call_function\((\{.*\})\)")
CURSOR = re.compile(r'call_function with cursor="([^"]+)"')


@pytest.fixture(scope="module")
def calls(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    config = 'surface = "calls"\n[policy]\ndeny = ["shelf.delete_item"]\n' + LIMITS + SHELF.format(url=api.url)
    return Forked(tmp_path_factory.mktemp("calls"), config)


@pytest.fixture(scope="module", params=WAYS)
async def caller(request: Any, anyio_backend: str, calls: Project) -> AsyncIterator[Agent]:
    transport, era = request.param.split("-")
    if transport == "stdio":
        async with apart(calls.stdio(era)) as agent:
            yield agent
    else:
        with calls.http() as (url, _):
            async with apart(connected(url, era)) as agent:
                yield agent


async def text(agent: Agent, tool: str, **arguments: Any) -> str:
    await agent.call(tool, **arguments)
    return agent.text


async def test_found_read_and_called(caller: Agent) -> None:
    """Search, card, call, by texts alone and with three tools: the card's example is sent as it stands, and a mistake is
    put right by what the error says. CONTRACT: DIS-05, DIS-08."""
    tools = [tool.name for tool in (await caller.client.list_tools()).tools]
    assert tools == ["search_functions", "get_functions", "call_function"]
    name = (await text(caller, "search_functions", query="one item of the shelf")).splitlines()[0].split(" ", 1)[0]
    example = CALL.search(await text(caller, "get_functions", functions=[name]))
    assert example
    assert json.loads(await text(caller, "call_function", **json.loads(example[1])))["itemName"].startswith("item ")
    wrong = await text(caller, "call_function", function="shelf.getItems", arguments={"id": 4})
    meant = re.search(r"did you mean '([^']+)'", wrong)
    assert meant
    told = await text(caller, "call_function", function=meant[1], arguments={"id": "four"})
    assert "expected integer" in told
    assert json.loads(await text(caller, "call_function", function=meant[1], arguments={"id": 4}))["price"] == 6
    made = await caller.call("call_function", function="shelf.create_item", arguments={"itemName": "a"})
    assert made["value"] == {"itemName": "a", "id": 1}


async def test_all_pages(caller: Agent) -> None:
    """Page by page as notes say, or at once by the helper that the instructions name."""
    assert 'get_functions(["doorward"])' in (caller.client.instructions or "")
    arguments, found = {}, 0
    while arguments is not None:
        answer = await caller.call("call_function", function="shelf.list_items", arguments=arguments)
        found += len(answer["value"]["items"])
        following = re.search(r"call_function with the arguments (\{.*\})", caller.text)
        arguments = json.loads(following[1]) if following else None
    assert found == 30
    assert "doorward.items(" in await text(caller, "get_functions", functions=["doorward"])
    at_once = await caller.call("call_function", function="doorward.items", arguments={"function": "shelf.list_items"})
    assert len(at_once["value"]) == 30


async def test_a_large_answer_is_read_to_its_end(caller: Agent) -> None:
    """What is cut can be had, page by page, by the tool that cut it. CONTRACT: OUT-04."""
    await caller.call("call_function", function="shelf.big", arguments={"count": 3000})
    cursor, read = CURSOR.search(caller.text), ""
    while cursor:
        read += (await caller.call("call_function", function="shelf.big", cursor=cursor[1]))["value"]
        cursor = CURSOR.search(caller.text)
    assert len(json.loads(read)) == 3000


async def test_what_policy_denies(caller: Agent) -> None:
    """It is not found; who asks for it, or calls it, is told why, in the same words."""
    assert "delete_item" not in await text(caller, "search_functions", query="throw an item away")
    card = await text(caller, "get_functions", functions=["shelf.delete_item"])
    call = await text(caller, "call_function", function="shelf.delete_item", arguments={"id": 1})
    assert "shelf.delete_item is not allowed by the operator's policy: [policy] deny" in card
    assert "shelf.delete_item is not allowed by the operator's policy: [policy] deny" in call


async def test_the_audit_log_has_single_calls(api: Api, tmp_path: Path) -> None:
    """As it has those of programs."""
    project = Forked(tmp_path, LIMITS + SHELF.format(url=api.url))
    project.change(first='surface = "calls"\n')
    async with project.stdio() as agent:
        await agent.call("call_function", function="shelf.get_item", arguments={"id": 1})
    assert "shelf.get_item" in [line.get("function") for line in project.audit()]
