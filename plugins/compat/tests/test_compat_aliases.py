"""Other systems' names for programs, and what MCP servers are by them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from doorward import Program, Refused
from doorward_compat.aliases import PREDEFINED_NAMES, RUNTIME, aliases, server_meant
from doorward_compat.script_aliases import script_aliases
from doorward_testing.box import BOX, Box
from doorward_testing.samples import CONFIG


@pytest.fixture
def box(doorward_host: Any) -> Any:
    doorward_host.install("source", "box", Box)
    return doorward_host


@pytest.mark.slow
@pytest.mark.anyio
async def test_what_a_server_is(box: Any) -> None:
    """What it is about, how many functions it has, some of their names, where it works. CONTRACT: DIS-14, MCP-12."""
    box.install_real("text")
    async with box.gateway(CONFIG + BOX) as gate:
        folder = str(box.folder / "things")
        (card,) = await gate.get_functions(["tool-box"])
        assert card["text"].splitlines()[0] == "tool_box: A box of things"
        assert "602 functions: open_it, jam, spare_0, " in card["text"]
        assert f"It works in the folder {folder}" in card["text"]
        assert await gate.call("doorward.runtime.describe_server", {"name": "tool-box"}) | {"tools": ()} == {
            "name": "tool-box", "alias": "tool_box", "cwd": folder, "tools": (),
        }  # fmt: skip
        (other,) = await gate.get_functions(["weather"])
        assert "folder" not in other["text"]


@pytest.mark.slow
@pytest.mark.anyio
async def test_lists_of_tools_are_bounded(box: Any) -> None:
    """A note says how many more there are."""
    async with box.gateway(CONFIG + BOX) as gate:
        outcome = await gate.execute("len(await doorward.call('doorward.runtime.list_tools', {'server': 'tool-box'}))")
        assert outcome.value == 500
        assert outcome.notes == ("tool_box has 602 functions, of which 500 are listed; doorward.search finds others",)
        assert len(await gate.call("doorward.runtime.discover_mcp_tools")) == 500
        weather, tools = await gate.call("doorward.runtime.list_loaded_server_metadata")
        assert len(weather["tools"]) + len(tools["tools"]) == 500


def test_nothing_for_programs_that_need_nothing() -> None:
    """Such a program is only searched for the names."""
    found = aliases("import github\nresult = github.f()", {"github": "github"}, lambda server, name: False)
    assert (found.modules, found.before) == ({}, "")


def test_servers_names_come_first() -> None:
    """An alias never takes the name of a server or a function; other names are made if nothing has them."""
    servers = {"mcp": "mcp", "mcp_git": "mcp_git", "git": "git", "Hub": "Hub"}
    found = aliases("mcp.functions mcp_git mcp_hub git Hub", servers, lambda server, name: server == "git")
    assert not {
        name for name in found.modules if name.startswith("mcp.s") or name in ("mcp", "mcp_git", "git.functions")
    }
    assert {"mcp_hub": "Hub", "Hub.functions": "Hub", "mcp.functions": "mcp"}.items() <= found.modules.items()
    assert found.before == "try:\n    eval('mcp_hub')\nexcept NameError:\n    import mcp_hub\n"
    odd = aliases("mcp_servers", {"a_b": 'a"b\\\n'}, lambda server, name: False)
    scope: dict[str, Any] = {}
    exec(odd.before.replace("import a_b as mcp__0", "mcp__0 = 1"), scope)
    assert scope["mcp_servers"] == {'a"b\\\n': 1, "a_b": 1}


@pytest.mark.anyio
async def test_every_name_that_is_there_is_a_helper(box: Any) -> None:
    async with box.gateway(CONFIG) as gate:
        assert set(PREDEFINED_NAMES) < set(gate.modules.members("doorward.runtime", None))
        assert "call_tool" not in gate.modules.members("doorward", None)


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("mcp.servers.git", "git"),
        ("mcp.servers.git.x", "git"),
        ("mcp_git", "git"),
        ("git.functions", "git"),
        ("servers.git.git_log", "git"),
        ("./mcp-wrappers/git", "git"),
        ("git", "git"),
    ],
)
def test_what_a_name_means(name: str, server: str) -> None:
    assert server_meant(name) == server


def test_names_in_typescript() -> None:
    """A server is imported by its configured name, or from a folder of wrappers; helpers of other systems are there
    without an import. CONTRACT: EXE-08, SRC-20."""
    servers = {"my_shelf": "my-shelf", "box": "box"}
    code = """
    import * as shelf from "my-shelf"; import { read } from './servers/box.ts';
    import "box"; export { a } from "../mcp-wrappers/my-shelf/index.js"; const b = await import("@/servers/box");
    import * as no from "./servers/none"; import * as other from "evil/box"; const text = "from './servers/my_shelf'";
    """
    found = script_aliases(code, servers)
    assert found.modules == {
        "my-shelf": "my_shelf",
        "./servers/box.ts": "box",
        "../mcp-wrappers/my-shelf/index.js": "my_shelf",
        "@/servers/box": "box",
        "./servers/my_shelf": "my_shelf",
    }
    assert found.before == ""
    assert script_aliases('import { myShelf as s, box } from "../mcp-wrappers";', servers).modules.items() >= {
        ("../mcp-wrappers", ""), ("../mcp-wrappers/myShelf", "my_shelf"), ("../mcp-wrappers/box", "box"),
    }  # fmt: skip
    helped = script_aliases("await callMCPTool('mcp__box__read', {}); searchTools('x')", servers)
    assert helped.modules == {"doorward.runtime": "doorward.runtime"}
    assert helped.before == (
        'import { callMCPTool, searchTools } from "doorward.runtime";\n'
        "globalThis.callMCPTool ??= callMCPTool;\nglobalThis.searchTools ??= searchTools;\n"
    )


@pytest.mark.anyio
async def test_their_searches_find_what_policy_allows(doorward_host: Any) -> None:
    """As `doorward.search` does: what is denied is not shown. CONTRACT: DIS-12."""
    async with doorward_host.gateway('policy = { deny = ["weather.get_forecast"] }\n' + CONFIG) as gate:
        await gate.ready()
        run: Any = SimpleNamespace(program=Program(""))
        for helper in ("search_tool_docs", "search_tools"):
            found = str(await gate.modules.helpers[RUNTIME][helper](run, "add a forecast for a city"))
            assert "add_station" in found
            assert "get_forecast" not in found


@pytest.mark.anyio
async def test_their_lists_show_what_may_be_called(doorward_host: Any) -> None:
    """Not what policy denies, nor what the run is not to call; who asks for it by name is told why. CONTRACT: DIS-12."""
    config = 'policy = { deny = ["weather.get_forecast"] }\n' + CONFIG
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        helpers = gate.modules.helpers[RUNTIME]
        for narrowed in (None, ("weather.add_*",)):
            notes: list[str] = []
            run: Any = SimpleNamespace(program=Program("", functions=narrowed), note=notes.append)
            listed = [
                await helpers["query_tool_docs"](run, "weather"),
                await helpers["list_tools"](run, "weather"),
                (await helpers["describe_server"](run, "weather"))["tools"],
                (await helpers["list_loaded_server_metadata"](run))[0]["tools"],
                await helpers["discover_mcp_tools"](run),
            ]
            assert {len(each) for each in listed} == {1 if narrowed else 7}
            assert "add_station" in str(listed)
            assert "get_forecast" not in str(listed)
            for asked in (
                helpers["query_tool_docs"](run, "weather", "get_forecast"),
                helpers["get_tool_schema"](run, "mcp__weather__get_forecast"),
            ):
                with pytest.raises(Refused, match="not allowed by the operator's policy"):
                    await asked
        assert await helpers["get_tool_schema"](run, "mcp__weather__nothing") is None
