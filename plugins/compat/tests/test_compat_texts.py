"""Which answers programs of other systems get as texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from doorward import Program, UnknownName
from doorward.values import if_repeated
from doorward_compat.aliases import RUNTIME, aliases, function_names
from doorward_compat.script_aliases import script_aliases
from doorward_compat.texts import text_rule
from doorward_testing.samples import CONFIG

TEXT = "call_mcp_tool('mcp__a__b', {})\n"
JSON, VALUE = '{"id": 1}', {"id": 1}
REPEATED = {"document": "words"}


@pytest.mark.parametrize(
    ("code", "value", "text", "wants"),
    [
        (TEXT, VALUE, JSON, True),
        (TEXT + "x['id']", VALUE, JSON, False),
        (TEXT + "x.get('id')", VALUE, JSON, False),
        (TEXT + "x.id", [VALUE], "[" + JSON + "]", False),
        (TEXT + "import json\njson.loads(x)['id']", VALUE, JSON, True),
        ("const { id } = await callMCPTool('mcp__a__b', {})", VALUE, JSON, False),
        ("import { a } from './mcp-wrappers'; JSON.parse(await a.b({})).id", VALUE, JSON, True),
        (TEXT + "x", REPEATED, "words", True),
        (TEXT + "x.document", REPEATED, "words", False),
        ("mcp_a.b().document", REPEATED, "words", False),
        ("from runtime.mcp_client import call_mcp_tool", VALUE, JSON, False),
        ("from runtime.mcp_client import call_mcp_tool", VALUE, "Made 1", True),
        ("from servers.a.b import b\nb()['id']", VALUE, "Made 1", False),
        ("from servers.a.b import b\nimport json\njson.loads(text)", VALUE, JSON, False),
        ("mcp_a.b()", VALUE, JSON, False),
        ("mcp_a.b()", REPEATED, "words", True),
        ("from mcp import runtime", REPEATED, "words", True),
    ],
)
def test_programs_of_other_systems(code: str, value: Any, text: str, wants: bool) -> None:
    """They get what those systems gave, or what they read fields of. CONTRACT: SRC-25, EXE-07."""
    assert text_rule(code)(value, text, True) is wants


@pytest.mark.parametrize(
    "code", ["import a\na.b()", "import doorward\ndoorward.call('a.b')", "mcp = 1", "servers = []\nservers.append(1)"]
)
def test_our_own_style(code: str) -> None:
    """It gets values, whatever a program does."""
    assert text_rule(code) is if_repeated


@pytest.mark.parametrize(
    ("code", "there"),
    [
        ("await llm.ask('x')", True),
        ("import llm\nllm.ask('x')", False),
        ("import asyncio, llm\nllm.think([])", False),
        ("x.llm.ask('x')", False),
        ("llm = 1", False),
    ],
)
def test_a_model_without_an_import(code: str, there: bool) -> None:
    """Only where the program asks it and does not import it, and there is one. CONTRACT: LLM-01."""
    for servers, wanted in (({"llm": "llm"}, there), ({"a": "a"}, False)):
        assert ("import llm\n" in aliases(code, servers, lambda server, name: False).before) is wanted
        script = code.replace("import asyncio, llm", "import llm").replace("import llm", 'import * as llm from "llm";')
        assert ('import * as llm from "llm"' in script_aliases(script, servers).before) is wanted


@pytest.mark.anyio
async def test_broken_servers_are_discovered(doorward_host: Any) -> None:
    """`discovered_servers` and its kin name all that are configured; a call of a broken one says what is wrong with it.
    CONTRACT: DIS-09, DIS-10."""
    async with doorward_host.gateway(CONFIG + '[servers.off-shore]\nsource = "nope"\n') as gate:
        await gate.ready()
        helpers, run = gate.modules.helpers[RUNTIME], SimpleNamespace(program=Program(""))
        for name in ("discovered_servers", "list_servers", "list_servers_sync"):
            assert await helpers[name](run) == ["weather", "off-shore"]
        with pytest.raises(UnknownName, match="off_shore"):
            await gate.call("doorward.runtime.call_mcp_tool", {"name": "mcp__off-shore__x"})
        run = {"code": "x", "enableSampling": True, "allowedTools": ["mcp__weather__*"]}
        for tool, language in (("executePython", ""), ("run-typescript-code", 'language="typescript", ')):
            asked = {"name": f"mcp__code-executor__{tool}", "arguments": run}
            with pytest.raises(UnknownName, match="runs programs here") as refused:
                await gate.call("doorward.runtime.call_mcp_tool", asked)
            how = f'execute_code(code, {language}functions=["mcp__weather__*"], sampling=true)'
            assert refused.value.hint == f"Give its `code` to execute_code: {how}"


def test_modules_of_another_system() -> None:
    """Its client, its servers, and a module for each tool; a server of such a name is that server. CONTRACT: EXE-07."""
    code = "from runtime.mcp_client import call_mcp_tool\nfrom servers.git.git_log import git_log"
    found = aliases(code, {"git": "git"}, lambda server, name: False).modules
    assert {
        "runtime": "", "runtime.mcp_client": "doorward.runtime", "servers": "", "servers.git": "git", "servers.git.git_log": "git",
    }.items() <= found.items()  # fmt: skip
    own = aliases(code, {"git": "git", "servers": "servers", "runtime": "runtime"}, lambda server, name: False).modules
    assert not [name for name in own if name.startswith(("runtime", "servers"))]


def test_names_as_objects() -> None:
    """CONTRACT: DIS-02."""
    assert function_names(["a.b", {"server_name": "c", "function_name": "d"}, {"server_name": "e"}]) == [
        "a.b",
        "c.d",
        "e",
    ]
