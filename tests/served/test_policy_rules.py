"""Rules of an operator decide calls, through a real client: each kind of rule, and programs that try to get around one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Agent, Api, Project, apart

pytestmark = pytest.mark.anyio

RULES = """
[groups]
staff = ["loc*"]
[policy.classes]
write = ["shelf.mark"]
[[policy.rules]]
match = "DELETE /items/*"
then = "deny"
reason = "nothing is thrown away"
[[policy.rules]]
match = ["shelf.get_item"]
when = "args.id > 100"
then = "deny"
reason = "only the first hundred"
[[policy.rules]]
match = "shelf.big"
when = "calls >= 3"
then = "deny"
[[policy.rules]]
match = "shelf.status"
principal = "@staff"
then = "deny"
reason = "not for staff"
[[policy.rules]]
match = "shelf.slow"
principal = "bob"
then = "deny"
[[policy.rules]]
class = ["write", "destructive"]
then = "confirm"
reason = "it changes something"
"""


@pytest.fixture(scope="module")
def shelf(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The server `shelf` under rules of every kind."""
    config = LIMITS + SHELF.format(url=api.url) + 'expose = ["deleteItem", "getItem"]\n' + RULES
    return Forked(tmp_path_factory.mktemp("rules"), config)


@pytest.fixture(scope="module")
async def again(anyio_backend: str, api: Api, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """A client of the same API as two servers, under the same rules."""
    config = SHELF.format(url=api.url) + SHELF.format(url=api.url).replace("shelf", "again") + RULES
    project = Forked(tmp_path_factory.mktemp("again"), LIMITS + config)
    async with apart(project.stdio()) as agent:
        yield agent


async def refused(agent: Agent, code: str) -> str:
    """Why a program's call was refused by policy."""
    answer = await agent.run(code)
    assert not answer["ok"], answer
    assert answer["error"]["kind"] == "policy", answer
    return str(answer["error"]["message"])


async def test_what_is_denied_is_nowhere(agent: Agent) -> None:
    """It is neither found, listed, shown, a tool, nor importable; the reason is told to who asks for it by name."""
    found = await agent.call("search_functions", query="throw an item away")
    assert "shelf.delete_item" not in [each["function"] for each in found["functions"]]
    assert "delete_item" not in str(await agent.call("list_servers"))
    assert "shelf_delete_item" not in {tool.name for tool in (await agent.client.list_tools()).tools}
    (card,) = (await agent.call("get_functions", functions=["shelf.delete_item"]))["functions"]
    assert "text" not in card
    assert "[[policy.rules]] 1: nothing is thrown away" in card["error"]
    imported = await agent.run("from shelf import delete_item")
    assert imported["error"]["type"] == "ImportError", imported
    assert "nothing is thrown away" in str(imported["error"])
    assert "delete_item" not in str((await agent.run("import shelf\nshelf.delete_itm(id=1)"))["error"])
    assert "delete_item" not in str((await agent.run("import doorward\ndoorward.call('shelf.delete_itm')"))["error"])
    named = await agent.run("import shelf\nshelf.delete_item(id=1)")
    assert "nothing is thrown away" in str(named["error"]), named


async def test_a_condition_decides_by_arguments(agent: Agent) -> None:
    """The same function may be called with some arguments, and not with others."""
    assert (await agent.run("import shelf; shelf.get_item(id=100)['id']"))["value"] == 100
    assert "only the first hundred" in await refused(agent, "import shelf; shelf.get_item(id=101)")
    assert "only the first hundred" in await refused(agent, "import shelf; shelf.get_item(101)")


async def test_a_condition_decides_by_the_calls_so_far(agent: Agent) -> None:
    """A run may call so often, however its calls are made; the next run begins anew."""
    each = "import shelf, asyncio\n"
    assert (await agent.run(each + "len([shelf.big(count=1) for n in range(3)])"))["value"] == 3
    assert "[[policy.rules]] 3" in await refused(agent, each + "[shelf.big(count=1) for n in range(4)]")
    together = each + "await asyncio.gather(*[shelf.big(count=1) for n in range(9)])"
    assert "[[policy.rules]] 3" in await refused(agent, together)
    assert (await agent.run(each + "len(shelf.big(count=1))"))["value"] == 1


async def test_rules_are_for_principals_and_groups(agent: Agent) -> None:
    """A rule for a group holds for its members, one for somebody else does not."""
    assert "not for staff" in await refused(agent, "import doorward; doorward.call('shelf.status', code=200)")
    assert (await agent.run("import shelf; shelf.slow(ms=1)"))["value"] == {"slept": True}


async def test_classes_come_from_the_method_or_the_operator(agent: Agent, api: Api) -> None:
    """A POST and what the operator calls a write need a person; the card says so; nothing is sent without one."""
    before = asked(api)
    for call, name in (('create_item(itemName="a")', "create_item"), ('mark(name="x")', "mark")):
        (card,) = (await agent.call("get_functions", functions=[f"shelf.{name}"]))["functions"]
        assert "A call asks a person first: it changes something." in card["text"]
        (hit,) = (await agent.call("search_functions", query=name, limit=1))["functions"]
        assert (hit["function"], hit.get("confirm")) == (f"shelf.{name}", True)
        waiting = (await agent.run(f"import shelf; shelf.{call}"))["waiting"]
        assert (waiting["for"], f"shelf.{name}" in waiting["what"][0]) == ("approval", True)
    assert asked(api) == before
    (card,) = (await agent.call("get_functions", functions=["shelf.list_items"]))["functions"]
    assert "asks a person" not in card["text"]


def asked(api: Api) -> list[str]:
    """What programs have asked of the API."""
    return [seen["path"] for seen in api.seen() if seen["path"] != "/openapi.json"]


EVASIONS = [
    "import shelf; shelf.deleteItem(id=1)",
    "import shelf; getattr(shelf, 'delete_item')(id=1)",
    "import doorward; doorward.call('shelf.delete_item', id=1)",
    "import doorward; doorward.call('shelf.deleteItem', id=1)",
    "import doorward; doorward.call('mcp__shelf__delete_item', id=1)",
    "import doorward; doorward.call('mcp__shelf__deleteItem', {'id': 1})",
    "import doorward; doorward.reply('shelf.delete_item', id=1)",
    "import doorward; doorward.call('shelf.delete_item ', id=1)",
    "import doorward; doorward.call('SHELF.delete_item', id=1)",
    "import doorward; doorward.call('shelf.DELETE /items/{id}', id=1)",
    "import again; again.delete_item(id=1)",
    "import doorward; list(doorward.pages('shelf.delete_item', id=1))",
    "import shelf; shelf.get_item(id=101)",
    "import doorward; doorward.call('shelf.getItem', id=101)",
    "import doorward; doorward.call('mcp__shelf__get_item', id=101)",
    "import doorward; doorward.call('shelf.get_item', id='101')",
    "import doorward; doorward.call('shelf.get_item', id=101.0)",
]


@pytest.mark.parametrize("code", EVASIONS)
async def test_no_program_gets_around_a_rule(api: Api, again: Agent, code: str) -> None:
    """By no alias, original name, generic call or other spelling, nor by another server for the same upstream."""
    before = asked(api)
    answer = await again.run(code)
    assert not answer["ok"], answer
    assert asked(api) == before


async def test_another_servers_function_of_the_same_name_is_another(again: Agent) -> None:
    """A rule that names a function means that of its server."""
    assert (await again.run("import again; again.get_item(id=101)['id']"))["value"] == 101


async def test_the_tool_of_a_function_is_under_the_same_rules(agent: Agent) -> None:
    """What is a tool of its own is decided like any other call."""
    tool = await agent.client.call_tool("shelf_get_item", {"id": 101})
    assert tool.is_error
    assert "only the first hundred" in str(tool.content)
