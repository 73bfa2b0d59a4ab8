"""MCP servers behind Doorward: what their tools would cost a model, and what a call costs compared
with the SDK's own client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common import HERE, PYTHON, Project, connected, interleaved, ms, ratio, table
from doorward import Gateway
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

OURS = [PYTHON, str(HERE / "upstream_server.py")]
EVERYTHING = HERE.parent / ".venv/peers/mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
SIZES = {"1 MB": 10**6, "10 MB": 10**7, "40 MB": 4 * 10**7}
AT_ONCE = 50
IN_PROGRAM = 100


async def run(folder: Path) -> None:
    await _schemas(folder / "schemas")
    sides = {"Python, the SDK's low-level server": (OURS, "item", {"n": 7})}
    if EVERYTHING.exists() and (node := shutil.which("node")):
        sides["Node, server-everything"] = ([node, str(EVERYTHING), "stdio"], "get-sum", {"a": 2, "b": 40})
    rows = [row for number, side in enumerate(sides.items()) for row in await _calls(folder / f"calls{number}", *side)]
    print("## A call of an MCP server through Doorward, ms a call (median / p95)")
    table(["upstream", "calls", "Doorward", "SDK client", "ratio"], rows)
    await _large(folder / "large")


# What a model is sent


async def _schemas(folder: Path) -> None:
    print("## Tool schemas of real MCP servers, as sent to a model: UTF-8 bytes / 4")
    servers = _real(folder)
    if not servers:
        print("\n`.ci/peers` installs them: left out.\n")
        return
    sizes = await asyncio.gather(*(_listed(command, env, folder) for command, env in servers.values()))
    rows = [
        [name, tools, f"{size // 4:,}"]
        for name, (tools, size) in sorted(zip(servers, sizes, strict=True), key=lambda one: -one[1][1])
    ]
    tools, size = sum(tools for tools, _ in sizes), sum(size for _, size in sizes)
    tables = "".join(_table(name, command, env) for name, (command, env) in servers.items())
    project = Project(folder / "project", tables)
    project.compile()
    async with connected(project.serve) as client:
        ours, overhead = _size((await client.list_tools()).tools)
        listed = await client.call_tool("list_servers", {})
        catalog = len(json.dumps(listed.structured_content).encode())
    rows += [
        [f"**{len(rows)} servers**", f"**{tools}**", f"**{size // 4:,}**"],
        ["Doorward before all of them", ours, f"**{overhead // 4:,}**"],
    ]
    rows += [["… and the answer of `list_servers`, when asked", "", f"{catalog // 4:,}"]]
    table(["server", "tools", "tokens"], rows)


def _real(folder: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Command and environment of the servers that tests/peers use, as far as they are installed."""
    folder.mkdir(parents=True)
    sys.path.insert(0, str(HERE.parent / "tests"))
    from peers.mcp_servers import SERVERS, prepare

    prepare(folder)
    found = {}
    for server in SERVERS:
        with contextlib.suppress(BaseException):  # pytest's word for one that is absent is no Exception
            entry = server.entry(folder, "http://127.0.0.1:9")
            found[server.name] = (entry["command"], entry.get("env", {}))
    return found


async def _listed(command: Sequence[str], env: Mapping[str, str], folder: Path) -> tuple[int, int]:
    parameters = StdioServerParameters(
        command=command[0], args=list(command[1:]), env={"PATH": os.environ["PATH"], **env}, cwd=folder
    )
    with open(os.devnull, "w") as null:
        async with Client(stdio_client(parameters, errlog=null), read_timeout_seconds=120) as client:
            return _size((await client.list_tools()).tools)


def _size(tools: Sequence[Any]) -> tuple[int, int]:
    """The number of tools, and the bytes of their names, descriptions and input schemas."""
    sent = [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]
    return len(tools), sum(len(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode()) for one in sent)


def _table(name: str, command: Sequence[str], env: Mapping[str, str]) -> str:
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
    return f'[servers.{name}]\nsource = "mcp"\ncommand = {json.dumps(list(command))}\nenv = {{ {pairs} }}\n'


# What a call costs


@contextlib.asynccontextmanager
async def _both(folder: Path, command: Sequence[str]) -> AsyncIterator[tuple[Gateway, Client]]:
    """A gateway with audit log, guard and cache in this process, and the SDK's client; each with an
    upstream process of its own."""
    project = Project(folder, _table("up", command, {}))
    async with Gateway.open(project.config, compile=False) as gate, connected(command) as client:
        assert (await gate.compile())["up"].functions
        yield gate, client


async def _calls(folder: Path, name: str, side: tuple[Sequence[str], str, Mapping[str, Any]]) -> list[list[str]]:
    command, tool, arguments = side
    async with _both(folder, command) as (gate, client):
        [function] = [f.qualified for f in gate.catalog.functions("up") if f.id == tool]

        async def ours() -> Any:
            return await gate.call(function, arguments)

        async def theirs() -> Any:
            answer = await client.call_tool(tool, dict(arguments))
            assert not answer.is_error
            return answer

        async def program(gathered: bool) -> float:
            calls = f"[up.{function.partition('.')[2]}(**arguments) for _ in range({IN_PROGRAM})]"
            code = f"import asyncio, up\nlen({f'await asyncio.gather(*{calls})' if gathered else calls})"
            began = asyncio.get_running_loop().time()
            outcome = await gate.execute(f"arguments = {dict(arguments)!r}\n{code}")
            assert outcome.ok, outcome.error
            return (asyncio.get_running_loop().time() - began) / IN_PROGRAM

        each = await interleaved({"doorward": ours, "sdk": theirs}, 1000, warm=50)
        blocks = await interleaved({"doorward": partial(_several, ours), "sdk": partial(_several, theirs)}, 20, warm=2)
        at_once = await interleaved(
            {"doorward": partial(_gathered, ours), "sdk": partial(_gathered, theirs)}, 30, warm=3
        )
        inside = await interleaved({"doorward": partial(program, False), "sdk": partial(_several, theirs)}, 20, warm=2)
        both = await interleaved({"doorward": partial(program, True), "sdk": partial(_gathered, theirs)}, 20, warm=2)
    took = {
        "one by one, in turns": each,
        f"one by one, {IN_PROGRAM} back to back": blocks,
        f"{AT_ONCE} at once": at_once,
        f"from a program: {IN_PROGRAM} one by one, its start included": inside,
        f"from a program: {IN_PROGRAM} gathered, its start included": both,
    }
    return [
        [name, what, ms(t["doorward"]), ms(t["sdk"]), f"**{ratio(t['doorward'], t['sdk'])}**"]
        for what, t in took.items()
    ]


async def _several(call: Callable[[], Awaitable[Any]]) -> float:
    began = asyncio.get_running_loop().time()
    for _ in range(IN_PROGRAM):
        await call()
    return (asyncio.get_running_loop().time() - began) / IN_PROGRAM


async def _gathered(call: Callable[[], Awaitable[Any]]) -> float:
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(call() for _ in range(AT_ONCE)))
    return (asyncio.get_running_loop().time() - began) / AT_ONCE


async def _large(folder: Path) -> None:
    rows = []
    async with _both(folder, OURS) as (gate, client):
        for name, size in SIZES.items():

            async def ours(size: int = size) -> None:
                assert len(await gate.call("up.text", {"n": size})) == size

            async def theirs(size: int = size) -> None:
                assert len((await client.call_tool("text", {"n": size})).content[0].text) == size

            took = await interleaved(
                {"doorward": ours, "sdk": theirs}, 2 if size > 10**7 else 15, warm=0 if size > 10**7 else 1
            )
            rows.append([name, ms(took["doorward"]), ms(took["sdk"]), f"**{ratio(took['doorward'], took['sdk'])}**"])
    print("## A large result over stdio, ms (median / p95)")
    table(["text", "Doorward", "SDK client", "ratio"], rows)
