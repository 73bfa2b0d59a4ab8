"""From a client that has a server to a client that has Doorward, which has the server: by the command line, and then
over MCP."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import anyio
import pytest

from .forked import Forked
from .product import Project

pytestmark = pytest.mark.anyio

GREETER = """
import json, os, sys
schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
for line in sys.stdin:
    asked = json.loads(line)
    match asked["method"]:
        case "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "greeter", "version": "1"}}
        case "tools/list":
            result = {"tools": [{"name": "greet", "description": "Say hello.", "inputSchema": schema}]}
        case "tools/call":
            token = os.environ["GREETER_TOKEN"]
            text = f"hello {asked['params']['arguments']['name']}, {token[:3]} {len(token)}"
            result = {"content": [{"type": "text", "text": text}]}
        case _:
            result = None
    if "id" in asked:
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
"""A server that starts quickly: the SDK takes longer than all of these tests do."""
TOKEN = "tok-of-a-greeter"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A home with a Cursor that has one server, with a token, and with a configuration that has none yet."""
    project = Forked(tmp_path, "")
    (tmp_path / "greeter.py").write_text(GREETER)
    entry = {"command": sys.executable, "args": [str(tmp_path / "greeter.py")], "env": {"GREETER_TOKEN": TOKEN}}
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"Greeter 1": entry}}, indent=2))
    return project


async def test_a_clients_server_is_moved_behind_doorward(project: Project) -> None:
    """Cursor's server is taken over with its token in `.env`, compiled, taken out of Cursor's configuration, and
    answers through the entry that stands there instead. CONTRACT: MCP-07, MCP-08, MCP-09, MCP-14, MCP-15, MCP-17, CLI-07,
    SRC-19."""
    shown = json.loads(project.run("import", "--dry-run", "--json").stdout)
    assert [(each["server"], each["action"], each["name"]) for each in shown["found"]] == [
        ("Greeter 1", "add", "Greeter-1")
    ]
    assert project.run("connect", "cursor", "--move").returncode == 0
    assert tomllib.loads(project.file.read_text())["servers"]["Greeter-1"]["env"] == {
        "GREETER_TOKEN": "${GREETER_TOKEN}"
    }
    assert project.run("compile").returncode == 0
    servers = json.loads((project.folder / ".cursor/mcp.json").read_text())["mcpServers"]
    assert list(servers) == ["doorward"]
    entry = servers["doorward"]
    async with project.stdio(command=[entry["command"], *entry["args"]]) as agent:
        assert await agent.value("import Greeter_1\nGreeter_1.greet(name='Ada')") == f"hello Ada, tok {len(TOKEN)}"
        assert not any(TOKEN in text for text in agent.received)
    listed = json.loads(project.run("connect", "--json").stdout)["clients"]
    assert [(each["client"], each["state"]) for each in listed] == [("cursor", "yes")]


def test_setup_is_one_command(project: Project) -> None:
    """`setup` takes the servers over, compiles them and connects the client; a second time it finds all done.
    CONTRACT: CLI-05, CLI-07, SRC-19."""
    project.file.unlink()
    ran = project.run("setup", "--yes", "--connect", "cursor")
    assert ran.returncode == 0, ran
    assert "Wrote 1 server" in ran.stdout
    assert "Greeter-1: 1 function" in ran.stdout
    assert "Cursor is connected" in ran.stdout
    again = project.run("setup", "--yes")
    assert (again.returncode, "unchanged" in again.stdout, "Cursor is connected already" in again.stdout) == (
        0,
        True,
        True,
    )
    assert json.loads(project.run("call", "Greeter_1.greet", "name=Bo").stdout) == "hello Bo, tok 16"


@pytest.mark.parametrize("word", ["list", "serve", "compile"])
def test_a_first_run_says_how_to_begin(project: Project, word: str) -> None:
    """Without a configuration, a command names both ways to get one. CONTRACT: CLI-06."""
    project.file.unlink()
    ran = project.run(word)
    assert ran.returncode == 2
    assert "doorward init" in ran.stderr
    assert "doorward import" in ran.stderr


@pytest.mark.slow
async def test_a_server_that_a_client_has_got_is_served(project: Project) -> None:
    """With the plugin `clients`, `serve` takes over what a client has got, if the operator says so, and policy holds for
    it. CONTRACT: SRC-21, CLI-05."""
    project.change('"audit_jsonl"]', '"audit_jsonl", "clients"]', last='[hooks.clients]\nnew_servers = "take"\n')
    async with project.stdio() as agent:
        while not (servers := (await agent.call("list_servers"))["servers"]) or not servers[0].get("functions"):
            await anyio.sleep(0.05)
        assert await agent.value("import Greeter_1\nGreeter_1.greet(name='Ada')") == f"hello Ada, tok {len(TOKEN)}"
    assert TOKEN not in project.file.read_text()
    project.change(last='[policy]\ndeny = ["Greeter_1.*"]\n')
    async with project.stdio() as agent:
        assert not (await agent.run("import Greeter_1\nGreeter_1.greet(name='Ada')"))["ok"]
