"""What a program can do about an API: catch its errors, get all pages, and not reach what is nobody's business."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .api import document
from .conftest import LIMITS
from .forked import Forked, project, shelf
from .product import Agent, Api, Project

__all__ = ["project", "shelf"]

pytestmark = pytest.mark.anyio

CAUGHT = """\
import asyncio
import doorward
import shelf

async def ask(code):
    try:
        return await shelf.status(code=code)
    except doorward.ApiError as error:
        return [error.status, error.body["detail"], error.retry_after]

try:
    shelf.get_item(id="no number")
except doorward.ApiError:
    wrong = "an ApiError"
except TypeError as error:
    wrong = "a TypeError"
result = [await asyncio.gather(ask(404), ask(409)), wrong]
"""


async def test_an_error_of_an_api_is_caught_as_what_it_is(agent: Agent) -> None:
    """`doorward.ApiError` with status and body, also at the same time; other errors are none. CONTRACT: EXE-19."""
    outcome = await agent.run(CAUGHT)
    assert outcome["ok"], outcome
    assert outcome["value"] == [[[404, "on purpose", None], [409, "on purpose", None]], "a TypeError"]


async def test_an_error_that_is_raised_again_keeps_its_name(stdio: Agent) -> None:
    """The failure says ApiError, its status, the line and what to do."""
    code = "import doorward, shelf\n\ntry:\n    shelf.status(code=403)\nexcept doorward.ApiError as e:\n    print(e.status)\n    raise e"
    outcome = await stdio.run(code)
    error = outcome["error"]
    assert (error["kind"], error["type"], error["line"], outcome["printed"]) == ("server", "ApiError", 7, "403\n")
    assert 'answered 403 Forbidden: "it went wrong: on purpose"' in error["message"]
    assert "credentials" in error["hint"]


async def test_what_an_api_complains_of_is_told(agent: Agent) -> None:
    """Which field, and why: caught or not, in what a program and its reader are told."""
    await agent.complaint()


async def test_all_pages_of_a_list(agent: Agent) -> None:
    """Each is a call of the run; where `most` ends it a note says so."""
    code = "import doorward, shelf\nresult = [one['id'] for page in doorward.pages(shelf.list_items) for one in page['items']]"
    outcome = await agent.run(code)
    assert outcome["value"] == list(range(10, 40))
    assert [(call["function"], call["count"]) for call in outcome["calls"]] == [("shelf.list_items", 3)]
    outcome = await agent.run("import doorward\nlen(doorward.pages('shelf.list_items', most=2))")
    assert outcome["value"] == 2
    assert "stopped after 2 pages of shelf.list_items" in outcome["notes"][0]


async def test_what_is_in_all_pages(agent: Agent) -> None:
    """`doorward.items` and both kinds of loops."""
    code = "import doorward, shelf\nfound = []\nasync for one in doorward.items(shelf.list_items):\n    found.append(one['id'])\nfound"
    assert await agent.value(code) == list(range(10, 40))
    outcome = await agent.run("import doorward\nlen(doorward.items('shelf.list_items', most=15))")
    assert outcome["value"] == 15
    assert "stopped after 15 items of shelf.list_items" in outcome["notes"][0]
    refused = (await agent.run("import doorward\ndoorward.items('shelf.get_item', id=3)"))["error"]
    assert "has no list" in refused["message"]


async def test_status_and_headers_of_answers(agent: Agent) -> None:
    """In programs that are kept, for calls that are made together; each is a call of the run, and within what it may
    call."""
    code = """\
import asyncio
import doorward
import shelf

ids = [3, 4]
replies = await asyncio.gather(*[doorward.reply(shelf.get_item, id=n) for n in ids])
result = [[reply.value["id"], reply.status, reply.headers["content-type"]] for reply in replies]
"""
    outcome = await agent.run(code)
    assert outcome["ok"], outcome
    assert outcome["value"] == [[3, 200, "application/json"], [4, 200, "application/json"]]
    assert [(call["function"], call["count"]) for call in outcome["calls"]] == [("shelf.get_item", 2)]
    again = await agent.call("run_cached_code", cache_id=outcome["cache_id"], params={"ids": [5]})
    assert again["value"] == [[5, 200, "application/json"]]
    refused = await agent.run(code, functions=["shelf.list_items"])
    assert refused["error"]["kind"] == "policy"


async def test_a_document_does_not_lead_inside(api: Api, tmp_path: Path) -> None:
    """A server on a private address is called where the operator says so, not where a document does: neither on this
    machine, nor in its network, nor where a cloud tells its machines their credentials. CONTRACT: SEC-05."""
    (tmp_path / "openapi.json").write_text(json.dumps(document(api.url)))
    table = '[servers.{name}]\nsource = "openapi"\nspec = "openapi.json"\n'
    said = f'base_url = "{api.url}"\n'
    config = LIMITS + table.format(name="word") + table.format(name="said") + said
    inside = {"cloud": "169.254.169.254", "lan": "192.168.7.7", "net": "[fd00::7]", "mapped": "[::ffff:10.0.0.7]"}
    for name, host in inside.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document(f"http://{host}")))
        config += table.format(name=name).replace("openapi.json", f"{name}.json")
    project = Forked(tmp_path, config)
    async with project.stdio() as agent:
        refused = (await agent.run("import word\nword.mark(name='inside')"))["error"]
        assert "a loopback address" in refused["message"]
        assert "base_url of [servers.word]" in refused["hint"]
        for name in inside:
            error = (await agent.run(f"import {name}\n{name}.mark(name='inside')"))["error"]
            assert ("a link-local address" if name == "cloud" else "a private or reserved address") in error["message"]
        assert (await agent.run("import said\nsaid.mark(name='allowed')"))["ok"]
    assert api.marked("allowed")
    assert not {"inside"} & set(api.get("/log")["marks"])


async def test_types_are_checked_of_programs_that_catch_errors(project: Project) -> None:
    """With `type_check`, what reads an error of an API passes; what is wrong beside it does not."""
    project.change(last="[executors.monty]\ntype_check = true\n")
    async with project.stdio() as agent:
        for named, imported in [
            ("doorward.ApiError", "import doorward"),
            ("ApiError", "from doorward import ApiError"),
        ]:
            code = f"import shelf\n{imported}\ntry:\n    shelf.status(code=404)\nexcept {named} as e:\n    result = f'{{e.status}} {{e.body}}'"
            assert (await agent.run(code))["value"].startswith("404 {")
            wrong = (await agent.run(code.replace("code=404", "cod=404")))["error"]
            assert "cod" in wrong["message"]
            assert "Nothing has run" in wrong["hint"]
