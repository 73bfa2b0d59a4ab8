"""Real MCP servers, all of them behind one Doorward: every tool that the SDK's own client lists is in the catalog, and
a call on each server, from a program in the sandbox of a served Doorward, is answered rightly."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from doorward.catalog.catalog import Catalog
from doorward_store_sqlite.catalog import SqliteCatalog
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult, Tool

from .mcp_servers import CALLED, SERVERS, Real, Web, prepare
from .peer import command_lines

pytestmark = [pytest.mark.anyio]
AT_ONCE = 4


class Harbour:
    """A folder with a configuration of every server, compiled."""

    def __init__(self, folder: Path, web: str) -> None:
        self.folder = folder
        self.web = web
        self.servers = {server.name: server.entry(folder, web) for server in SERVERS}
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "TMPDIR", "LANG")}
        self.environment = {**kept, "HOME": str(folder)}
        self.configure("all.toml", self.servers)
        self.configure("none.toml", {})

    def configure(self, name: str, servers: Mapping[str, Any]) -> None:
        configured = {"state": Path(name).stem, "limits": {"rate": 100_000}, "servers": servers}
        (self.folder / name).write_text(tomli_w.dumps(configured))

    def command(self, *words: str, config: str = "all.toml") -> list[str]:
        return [sys.executable, "-m", "doorward", *words, "--config", config]

    def run(self, *words: str) -> str:
        options = {"cwd": self.folder, "env": self.environment, "capture_output": True, "text": True, "timeout": 240}
        ran = subprocess.run(self.command(*words), check=False, **options)
        assert ran.returncode == 0, ran.stderr[-3000:] + ran.stdout[-3000:]
        return ran.stdout

    @contextlib.asynccontextmanager
    async def serving(self, config: str = "all.toml") -> AsyncIterator[Client]:
        """The SDK's client of a `doorward serve` of its own."""
        program, *words = self.command("serve", config=config)
        async with client(program, words, self.environment, self.folder) as connected:
            yield connected


@contextlib.asynccontextmanager
async def client(program: str, words: Sequence[str], env: Mapping[str, str], folder: Path) -> AsyncIterator[Client]:
    """The SDK's client. It can be asked for input, as Doorward can: some servers have more tools then."""
    parameters = StdioServerParameters(command=program, args=list(words), env=dict(env), cwd=folder)
    with (folder / "stderr").open("ab") as errors:
        async with Client(
            stdio_client(parameters, errlog=errors), read_timeout_seconds=60, elicitation_callback=decline
        ) as connected:
            yield connected


async def decline(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="decline")


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    folder = tmp_path_factory.mktemp("harbour")
    prepare(folder)
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    with contextlib.closing(web.socket):
        yield Harbour(folder, f"http://127.0.0.1:{web.server_port}")
        web.shutdown()


@pytest.fixture(scope="module")
def report(harbour: Harbour) -> dict[str, Any]:
    """What `doorward compile --json` says of each server."""
    return dict(json.loads(harbour.run("compile", "--json"))["servers"])


@pytest.fixture(scope="module")
async def listed(harbour: Harbour, anyio_backend: str) -> dict[str, list[Tool]]:
    """The tools of each server as the SDK's own client lists them."""
    slots, found = asyncio.Semaphore(AT_ONCE), {}

    async def one(name: str, entry: Mapping[str, Any]) -> None:
        async with slots:
            program, *words = entry["command"]
            async with client(program, words, harbour.environment | entry.get("env", {}), harbour.folder) as connected:
                found[name] = list((await connected.list_tools()).tools)

    await asyncio.gather(*(one(name, entry) for name, entry in harbour.servers.items()))
    return found


@pytest.fixture(scope="module")
async def agent(harbour: Harbour, report: Mapping[str, Any], anyio_backend: str) -> AsyncIterator[Client]:
    async with harbour.serving() as connected:
        yield connected


async def answer(agent: Client, tool: str, **arguments: Any) -> Any:
    return (await agent.call_tool(tool, arguments)).structured_content


def started(harbour: Harbour, before: Collection[int]) -> set[str]:
    """The servers that run, and did not run before: their command line is that of their entry."""
    lines = [line for process, line in command_lines(os.getpid()).items() if process not in before]
    return {
        name for name, entry in harbour.servers.items() if any(" ".join(entry["command"]) in line for line in lines)
    }


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_every_tool_is_a_function(
    server: Real, harbour: Harbour, report: Mapping[str, Any], listed: Mapping[str, list[Tool]]
) -> None:
    """None is skipped, each under a name that Python takes, with its own name as id, its parameters, and its word on
    what it does."""
    catalog, tools = Catalog(SqliteCatalog(harbour.folder / "all/catalog.db")), listed[server.name]
    functions = {function.id: function for function in catalog.functions(server.name)}
    catalog.close()
    assert functions.keys() == {tool.name for tool in tools}
    assert report[server.name]["functions"] == len(tools) > 0
    assert not report[server.name].get("skipped")
    for tool in tools:
        function = functions[tool.name]
        assert function.name.isidentifier()
        assert len(function.parameters.get("properties", {})) == len(tool.input_schema.get("properties", {})), tool
        assert function.read_only == bool(tool.annotations and tool.annotations.read_only_hint), tool


async def test_a_start_connects_to_nothing(harbour: Harbour, report: Mapping[str, Any]) -> None:
    """Nor do listing, searching and reading: the first call starts the server that it is for, and no other."""
    before = command_lines(os.getpid()).keys()
    async with harbour.serving() as agent:
        assert (await agent.list_tools()).tools
        assert len((await answer(agent, "list_servers"))["servers"]) == len(SERVERS)
        assert (await answer(agent, "search_functions", query="add two numbers"))["functions"]
        assert await answer(agent, "get_functions", functions=["everything.get-sum"])
        assert started(harbour, before) == set()
        assert (
            await answer(agent, "execute_code", code="import calculator\ncalculator.calculate(expression='1 + 1')")
        )["value"] == "2"
        assert started(harbour, before) == {"calculator"}
    assert started(harbour, before) == set()


@pytest.mark.parametrize("server", CALLED, ids=lambda server: server.name)
async def test_a_call_is_answered_rightly(server: Real, harbour: Harbour, agent: Client) -> None:
    answered = await answer(agent, "execute_code", code=server.program(harbour.folder, harbour.web), timeout=60)
    assert answered.get("ok"), answered
    assert answered["value"] == server.value


async def test_an_image_is_an_artefact(agent: Client) -> None:
    """Blocks of a result are a list; an image among them is bytes of its media type."""
    answered = await answer(agent, "execute_code", code="import everything\neverything.get_tiny_image()")
    assert answered["ok"], answered
    assert len(answered["value"]) == 3
    (artefact,) = answered["artefacts"]
    assert artefact["type"] == "image/png"


async def test_what_a_model_is_sent_does_not_grow_with_the_servers(
    harbour: Harbour, agent: Client, listed: Mapping[str, list[Tool]]
) -> None:
    """The tools of Doorward are the same in front of all servers and of none. CONTRACT: DIS-17."""
    async with harbour.serving("none.toml") as empty:
        alone = (await empty.list_tools()).tools
    tools = (await agent.list_tools()).tools
    assert [tool.name for tool in tools] == [tool.name for tool in alone]
    assert _size(tools) <= 1.1 * _size(alone)
    assert _size(tools) * 10 < sum(_size(listed[server.name]) for server in SERVERS)


def _size(tools: Sequence[Tool]) -> int:
    """Characters of what a client sends of tools to a model."""
    return len(json.dumps([[tool.name, tool.description, tool.input_schema] for tool in tools]))
