"""From a client that has a server to a client that has Doorward, which has the server: by the command line, and then
over MCP."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
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
URL = "https://x.test/mcp"


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
    assert project.run("connect", "claude-code").returncode == 0
    assert json.loads((project.folder / ".claude.json").read_text())["mcpServers"]["doorward"]["args"] == entry["args"]


def test_what_clients_have_is_merged(project: Project) -> None:
    """Servers of Claude Code, of a person and of the project, and of VS Code are found beside Cursor's; of two of one name
    the project's is taken; one that two clients have is taken once, Doorward itself never. All of them, by whatever
    transport, are tables of one file, and a second time nothing is new. CONTRACT: MCP-07, MCP-08, MCP-15, MCP-17."""

    def entry(word: str) -> dict[str, object]:
        return {"command": "true", "args": [word]}

    twice = json.loads((project.folder / ".cursor/mcp.json").read_text())["mcpServers"]["Greeter 1"]
    ours = {"command": "doorward", "args": ["serve"]}
    for file, key, servers in (
        (
            ".claude.json",
            "mcpServers",
            {"mine": entry("mine"), "both": entry("a person's")},
        ),
        (".mcp.json", "mcpServers", {"both": entry("the project's")}),
        (
            ".vscode/mcp.json",
            "servers",
            {"old": {"type": "sse", "url": "https://x.test/sse"}, "new": {"url": URL}, "twice": twice, "dw": ours},
        ),
    ):
        (project.folder / file).parent.mkdir(exist_ok=True)
        (project.folder / file).write_text(json.dumps({key: servers}))
    assert project.run("import", "--yes").returncode == 0
    written = tomllib.loads(project.file.read_text())["servers"]
    assert {*written} == {"Greeter-1", "mine", "both", "old", "new"}
    assert written["both"]["command"] == ["true", "the project's"]
    assert (written["old"]["url"], written["new"]["url"]) == ("https://x.test/sse", URL)
    assert {each["source"] for each in written.values()} == {"mcp"}
    (project.folder / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"renamed": twice}}))
    assert project.run("import", "--yes").returncode == 0
    assert {*tomllib.loads(project.file.read_text())["servers"]} == {*written}


def test_setup_is_one_command(project: Project) -> None:
    """`setup` takes the servers over, compiles them and connects the client; a second time it finds all done, and
    takes out of the client what Doorward has. It does nothing unasked: where nobody can be asked, only with `--yes`.
    CONTRACT: CLI-05, CLI-07, SRC-19."""
    project.file.unlink()
    project.env["DOORWARD_EXECUTOR"] = '["monty"]'  # else executors are tried, as test_executor_choice.py does
    unasked = project.run("setup", "--connect", "cursor")
    assert (unasked.returncode, "--yes" in unasked.stderr, project.file.exists()) == (2, True, False)
    ran = project.run("setup", "--yes", "--connect", "cursor")
    assert ran.returncode == 0, ran
    assert "Wrote 1 server" in ran.stdout
    assert "Greeter-1: 1 function" in ran.stdout
    assert "Cursor is connected" in ran.stdout
    file = project.folder / ".cursor/mcp.json"
    assert list(json.loads(file.read_text())["mcpServers"]) == ["Greeter 1", "doorward"]
    again = project.run("setup", "--yes", "--move")
    assert list(json.loads(file.read_text())["mcpServers"]) == ["doorward"]
    assert (again.returncode, "unchanged" in again.stdout, "Cursor is connected already" in again.stdout) == (
        0,
        True,
        True,
    )
    assert json.loads(project.run("call", "Greeter_1.greet", "name=Bo").stdout) == "hello Bo, tok 16"


@pytest.mark.slow
def test_setup_asks_a_person(project: Project) -> None:
    """At a terminal, `setup` asks where programs run, for limits, safety and the model, then for servers and clients, and
    takes the servers that it moved out of the client, whose copy it names; nothing is done that was not answered.
    CONTRACT: CLI-05, MCP-14."""
    project.file.unlink()
    project.env["DOORWARD_EXECUTOR"] = '["nsjail"]'
    answers = [
        ("Change where programs run, their limits, model and safety?", "y"),
        ("Where do programs run?", "monty"),
        ("Seconds that a run may take [30.0]", "45"),
        ("Calls that a run may make [1000]", ""),
        ("Runs a minute of one client [60]", ""),
        ("wait for a person's yes?", "destructive"),
        ("Which language model may programs ask?", "none"),
        ("are they ignored, logged, or taken over?", "logged"),
        ("An API to add:", ""),
        ("Write 1 server to", "y"),
        ("Connect Cursor", "y"),
        ("Doorward has Greeter 1: take them out of Cursor", ""),
    ]
    said, code = at_a_terminal(project, ["setup"], answers)
    assert code == 0, said
    assert "A first program ran in " in said
    assert said.rstrip().endswith("or doorward search WORDS")  # what is next is the last line
    written = tomllib.loads(project.file.read_text())
    assert (written["executor"], written["limits"]) == (["monty"], {"timeout": 45.0})
    assert written["policy"]["rules"] == [{"class": ["destructive"], "then": "confirm"}]
    assert "clients" in written["plugins"]
    file = project.folder / ".cursor/mcp.json"
    assert list(json.loads(file.read_text())["mcpServers"]) == ["doorward"]
    copies = [each for each in file.parent.iterdir() if each.name.startswith("mcp.json.") and each.name in said]
    assert any("Greeter 1" in each.read_text() for each in copies)
    decided = project.run("policy", "test", "Greeter_1.greet").stdout  # for all that is known, it may destroy something
    assert "confirm" in decided, decided


@pytest.mark.slow
def test_setup_is_five_times_enter(project: Project) -> None:
    """Whoever agrees to everything types nothing else: the client's servers are taken over, a program ran, the client is
    connected, and has Doorward alone."""
    project.file.unlink()
    project.env["DOORWARD_EXECUTOR"] = '["monty"]'
    questions = ("Change where", "An API to add:", "Write 1 server to", "Connect Cursor", "take them out of Cursor")
    said, code = at_a_terminal(project, ["setup"], [(question, "") for question in questions])
    assert (code, "A first program ran in monty" in said) == (0, True), said
    assert list(json.loads((project.folder / ".cursor/mcp.json").read_text())["mcpServers"]) == ["doorward"]
    assert json.loads(project.run("call", "Greeter_1.greet", "name=Bo").stdout) == "hello Bo, tok 16"


def at_a_terminal(project: Project, words: list[str], answers: list[tuple[str, str]]) -> tuple[str, int]:
    """A command with a terminal, at which a person waits for each question and answers it: all that it says, and its exit
    code."""
    ours, its = os.openpty()
    with subprocess.Popen(
        project.command(*words), env=project.environment(), cwd=project.folder, stdin=its, stdout=its, stderr=its
    ) as process:
        os.close(its)
        said, left = "", [*answers]
        with contextlib.suppress(OSError):  # as Linux says that nobody has the other end any more
            while part := os.read(ours, 2**16):
                said += part.decode(errors="replace")
                if left and left[0][0] in " ".join(said.split()):
                    answer = left.pop(0)[1]
                    os.write(ours, (answer if answer.endswith("\t") else f"{answer}\n").encode())
                    said = "" if left else said
        os.close(ours)
        return said, process.wait()


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
