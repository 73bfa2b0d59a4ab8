"""Programs written for the systems before us run as they are: their names for servers, tools and helpers mean ours."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from doorward_compat.runtime import Runtime

from .conftest import LIMITS, SHELF
from .forked import Forked, script
from .product import Agent, Api, apart

pytestmark = pytest.mark.anyio

OURS = [
    "list_items",
    "create_item",
    "get_item",
    "delete_item",
    "slow",
    "big",
    "status",
    "drop",
    "away",
    "mark",
    "headers",
    "echo",
]


@pytest.fixture(scope="module")
async def agent(anyio_backend: str, api: Api, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """A client of a project with the servers `shelf` and `my-shelf`."""
    shelf = SHELF.format(url=api.url)
    project = Forked(
        tmp_path_factory.mktemp("others"), LIMITS + shelf + shelf.replace("servers.shelf", "servers.my-shelf")
    )
    async with apart(project.stdio()) as agent:
        yield agent


@pytest.mark.parametrize(
    "code",
    [
        "from shelf.functions import get_item\nget_item(id=7)",
        "import my_shelf.functions\nmy_shelf.functions.get_item(id=7)",
        'mcp_servers["shelf"].get_item(id=7)',
        'await mcp_servers["my-shelf"].get_item(id=7)',
        "await mcp_my_shelf.get_item(id=7)",
        "from mcp.servers.shelf import *\nawait get_item(id=7)",
        "from mcp.servers.my_shelf import get_item as f\nawait f(id=7)",
        "import mcp.servers.shelf as shelf\nshelf.get_item(id=7)",
        'from mcp import runtime\nawait runtime.call_tool("my-shelf", "get_item", {"id": 7})',
        'from mcp.runtime import call_tool\ncall_tool("shelf", "getItem", {"id": 7})',
        'import doorward\ndoorward.server("my-shelf").get_item(id=7)',
        # The tool's original name
        "mcp_shelf.getItem(id=7)",
        "from mcp.servers.shelf import getItem\nawait getItem(id=7)",
        "import shelf\nshelf.getItem(id=7)",
    ],
)
async def test_call_styles(agent: Agent, code: str) -> None:
    """`mcp_servers["s"]`, `mcp_s.tool(…)`, `from mcp.servers.s import *`, `mcp.runtime.call_tool`, and `from
    s.functions import f`.
    CONTRACT: EXE-07, MCP-10, DIS-03."""
    assert (await agent.value(code))["id"] == 7


@pytest.mark.parametrize(
    "call",
    [
        'call_mcp_tool("mcp__shelf__get_item", {"id": 7})',
        'call_mcp_tool("mcp__my-shelf__getItem", {"id": 7})',
        'await callMCPTool("mcp__shelf__getItem", {"id": 7})',
        'await call_mcp_tool("shelf__get_item", {"id": 7})',
        'call_mcp_tool("shelf.get_item", id=7)',
        'doorward.call("mcp__shelf__getItem", {"id": 7})',
    ],
)
async def test_generic_calls(agent: Agent, call: str) -> None:
    """By one name of server and tool together, plain or awaited, in every form. CONTRACT: EXE-08, MCP-10."""
    answer = await agent.run(f"import doorward\n{call}")
    assert answer["value"]["id"] == 7
    assert [c["function"].partition(".")[2] for c in answer["calls"]] == ["get_item"]


async def test_discovery_by_names_of_b(agent: Agent) -> None:
    """`discover_mcp_tools`, `search_tools`, `get_tool_schema` and their camelCase forms are simply there.
    CONTRACT: DIS-07, DIS-08, DIS-12."""
    code = """\
tools = await discoverMCPTools()
found = await searchTools("throw away an item", 2)
schema = getToolSchema(found[0]["name"])
no = await get_tool_schema("mcp__shelf__no")
result = [len(tools), tools[0]["name"], [t["name"] for t in found], schema["parameters"]["required"], no,
    len(search_tools("item")) > 3, [t["name"] for t in discover_mcp_tools({"search": ["redirects"]})]]"""
    first = "mcp__shelf__delete_item"
    assert await agent.value(code) == [
        2 * len(OURS), "mcp__shelf__list_items", [first, first.replace("shelf", "my-shelf")], ["id"], None,
        True, ["mcp__shelf__away", "mcp__my-shelf__away"],
    ]  # fmt: skip


async def test_discovery_by_names_of_d(agent: Agent) -> None:
    """`mcp.runtime`: servers, docs of tools in two details, fuzzy search, metadata, a paragraph about it all.
    CONTRACT: DIS-07, DIS-08, DIS-09, DIS-10, DIS-11, DIS-12, DIS-13, DIS-14, DIS-15."""
    code = """\
import doorward
from mcp import runtime
docs = await runtime.query_tool_docs("my-shelf")
full = await runtime.query_tool_docs("my-shelf", tool="getItem", detail="full")
found = await runtime.search_tool_docs("throw away an item", limit=1)
about = runtime.describe_server("my-shelf")
loaded = runtime.list_loaded_server_metadata()
result = {
    "servers": [runtime.discovered_servers(), await runtime.list_servers(), runtime.list_servers_sync()],
    "docs": [[d["toolAlias"] for d in docs], docs == runtime.query_tool_docs_sync("my-shelf"), "inputSchema" in docs[0]],
    "full": full,
    "found": found == runtime.search_tool_docs_sync("throw away an item", limit=1) and found,
    "ours": [f["function"] for f in doorward.search("", server="my-shelf", limit=50)["functions"]],
    "tools": [t["alias"] for t in runtime.list_tools_sync("shelf")],
    "about": [about["name"], about["alias"], about["tools"][2]["name"], about["tools"][2]["input_schema"]["required"], "cwd" in about],
    "loaded": [[s["name"], len(s["tools"])] for s in loaded],
    "summary": "sandbox" in runtime.capability_summary(),
}"""
    got = await agent.value(code)
    assert got["servers"] == [["shelf", "my-shelf"]] * 3
    assert got["docs"] == [OURS, True, False]
    assert got["full"].pop("inputSchema")["properties"]["id"]["type"] == "integer"
    wanted = {"server": "my-shelf", "serverAlias": "my_shelf", "tool": "getItem", "toolAlias": "get_item"}
    assert got["full"] == wanted | {"description": "One item of the shelf"}
    (hit,) = got["found"]
    assert (hit["server"], hit["tool"], hit["description"]) == ("shelf", "deleteItem", "Throw an item away")
    assert sorted(got["ours"]) == sorted(f"my_shelf.{name}" for name in OURS)
    assert got["tools"] == OURS
    assert got["about"] == ["my-shelf", "my_shelf", "getItem", ["id"], False]
    assert got["loaded"] == [["shelf", len(OURS)], ["my-shelf", len(OURS)]]
    assert got["summary"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            'from mcp import runtime\nruntime.call_tool("shell", "get_item", {"id": 7})',
            "UnknownName: Server 'shell' is not available",
        ),
        (
            'from mcp import runtime\nawait runtime.query_tool_docs("shell")',
            "UnknownName: Server 'shell' is not available",
        ),
        ('call_mcp_tool("mcp__shell__get_item", {})', "UnknownName: Server 'shell' is not available"),
        ('import doorward\ndoorward.server("shell")', "UnknownName: Server 'shell' is not available"),
        ("x = 1\nmcp_servers['shell'].get_item(id=7)", "KeyError: shell"),
        ("x = 1\nmcp_shell.get_item(id=7)", "NameError: name 'mcp_shell' is not defined"),
        (
            "x = 1\nfrom mcp.servers.shell import get_item",
            "Unsupported: monty: monty has no module 'mcp.servers.shell'",
        ),
    ],
)
async def test_a_server_that_is_not_there(agent: Agent, code: str, error: str) -> None:
    """The error or its hint says that it is not available, and which is near. CONTRACT: DIS-18."""
    got = (await agent.run(code))["error"]
    assert f"{got['type']}: {got['message']}" == error
    assert "Near: shelf" in got["hint"]
    assert "Server 'shell' is not available" in got["message"] + got["hint"]
    assert got["line"] == code.count("\n") + 1


async def test_servers_of_a_run(agent: Agent) -> None:
    """The caller chooses them by `functions`; the others are still listed, and cannot be called. CONTRACT: DIS-18."""
    code = "from mcp import runtime\nprint(await runtime.list_servers())\nawait mcp_my_shelf.get_item(id=1)\nawait mcp_shelf.get_item(id=1)"
    answer = await agent.run(code, functions=["my-shelf.*"])
    assert "my-shelf" in answer["printed"]
    assert (answer["error"]["type"], answer["error"]["line"]) == ("Refused", 4)


async def test_a_misspelt_tool(agent: Agent) -> None:
    """By an alias as by our own name: what is near."""
    for code in (
        "mcp_shelf.get_itm(id=1)",
        "from mcp.servers.shelf import get_itm",
        "from shelf.functions import get_itm",
    ):
        assert "shelf.get_item" in (await agent.run(code))["error"]["hint"], code
    error = (await agent.run('call_mcp_tool("shelf__get_itm")'))["error"]
    assert error["message"].startswith("there is no function 'shelf.get_itm'; did you mean 'shelf.")
    assert "shelf.get_item" in error["hint"]


async def test_a_program_of_another_system_again(agent: Agent) -> None:
    """It is kept as it was written, and its parameters are those of its text. CONTRACT: CAC-01, CAC-02."""
    first = await agent.run("number = 7\nresult = call_mcp_tool('mcp__shelf__get_item', {'id': number})['id']")
    again: Any = await agent.call("run_cached_code", cache_id=first["cache_id"], params={"number": 8})
    assert (first["value"], again["value"]) == (7, 8)


async def test_a_server_that_is_called_mcp(api: Api, tmp_path: Path) -> None:
    """It is that server; what is simply there works beside it."""
    project = Forked(tmp_path, LIMITS + SHELF.format(url=api.url).replace("servers.shelf", "servers.mcp"))
    async with project.stdio() as agent:
        code = "import mcp\nresult = [mcp.get_item(id=1)['id'], mcp_servers['mcp'].get_item(id=2)['id'], len(discover_mcp_tools()) > 3]"
        assert await agent.value(code) == [1, 2, True]
        assert not (await agent.run("from mcp import runtime"))["ok"]


def test_the_page_names_every_helper() -> None:
    """What `doorward.runtime` has is in docs/programs.md, under its name."""
    page = (Path(__file__).parents[2] / "docs/programs.md").read_text(encoding="utf-8")
    runtime = Runtime(Mock())
    assert [name for name in runtime.all if name not in page and name != "list_tools"] == []


# The same with an MCP server


@pytest.fixture(scope="module")
async def box(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """A client of a project with the MCP server `tool-box`, which works in the folder `things`."""
    folder = tmp_path_factory.mktemp("box")
    (folder / "things").mkdir()
    command = script("box.py")
    project = Forked(
        folder, LIMITS + f'[servers.tool-box]\nsource = "mcp"\ncommand = {json.dumps(command)}\ncwd = "things"\n'
    )
    async with apart(project.stdio()) as agent:
        yield agent


async def test_tools_of_an_mcp_server(box: Agent) -> None:
    """By every style, with the tool's and the parameter's own names. CONTRACT: EXE-07, EXE-08, MCP-10, SRC-18."""
    code = """\
from mcp import runtime
from mcp.servers.tool_box import open_it
arguments = {"per-page": 1}
result = [
    await open_it(per_page=1), mcp_tool_box.open_it(per_page=1), await mcp_servers["tool-box"].open_it(per_page=1),
    await call_mcp_tool("mcp__tool-box__open-it", arguments), call_mcp_tool("tool-box__open-it", arguments),
    await runtime.call_tool("tool-box", "open-it", arguments), runtime.call_tool("tool_box", "open_it", {"per_page": 1}),
]"""
    (said,) = set(await box.value(code))
    assert said.startswith("page 1 in ")


async def test_where_an_mcp_server_works(box: Agent) -> None:
    """`describe_server` and the metadata have its `cwd`, `doorward.describe` says it once. CONTRACT: DIS-14, MCP-12."""
    code = """\
import doorward
from mcp import runtime
about = runtime.describe_server("tool-box")
result = [about["cwd"], runtime.list_loaded_server_metadata()[0]["cwd"], doorward.describe("tool-box"), mcp_tool_box.open_it(per_page=2)]"""
    cwd, again, text, said = await box.value(code)
    assert (again, said) == (cwd, f"page 2 in {cwd}")
    assert cwd.endswith("/things")
    assert text.count(cwd) == 1
    assert "2 functions: open_it, jam_now" in text


async def test_resources_and_prompts_of_an_mcp_server(box: Agent) -> None:
    """Listed and read in a program."""
    code = """\
import doorward
prompt = doorward.get_prompt("tool-box", "tidy", {"room": "attic"})
result = [
    [r["uri"] for r in doorward.list_resources("tool-box")], await doorward.read_resource("tool-box", "box://lid"),
    [p["name"] for p in doorward.list_prompts("tool-box")], "attic" in str(prompt),
]"""
    assert await box.value(code) == [["box://lid"], "a lid", ["tidy"], True]


async def test_the_error_of_a_tool(box: Agent) -> None:
    """`doorward.ToolError` with the tool's text, in the program and as the type of a run's error."""
    code = "import doorward, tool_box\ntry:\n    tool_box.jamNow()\nexcept (KeyError, doorward.ToolError) as e:\n    result = str(e)"
    assert "the box is jammed" in await box.value(code)
    error = (await box.run("import tool_box\ntool_box.jam_now()"))["error"]
    assert (error["kind"], error["type"], error["line"]) == ("server", "ToolError", 2)
    assert "the box is jammed" in error["message"]
