"""Shared by all parts: statistics and tables, a project folder, servers at the other end of a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

HERE = Path(__file__).parent
PYTHON = sys.executable
BARE = {name: [PYTHON, str(HERE / "bare_server.py"), name] for name in ("sdk", "ours")}
ERAS = {"2026-07-28": "auto", "2025-11-25": "legacy"}
"""The revisions of the protocol, and the SDK client's mode for each."""

HEAD = """\
state = "state"
executor = "monty"
cache = "sqlite"
plugins = ["ast", "audit_jsonl"]
[limits]
rate = 1000000
calls = 10000
"""
"""The default configuration, except for the limits on the number of requests."""


os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Both sides are measured as they are installed, with their modules compiled."""


# Numbers


def at(values: Sequence[float], part: float) -> float:
    """The value below which the given part of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def median(values: Sequence[float]) -> float:
    return at(values, 0.5)


def ms(values: Sequence[float]) -> str:
    return f"{median(values) * 1000:.2f} / {at(values, 0.95) * 1000:.2f}"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    return f"{median(ours) / median(theirs):.2f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Markdown, so that it can be pasted into the README."""
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)


async def interleaved(
    sides: Mapping[str, Callable[[], Awaitable[Any]]], rounds: int, warm: int = 20
) -> dict[str, list[float]]:
    """Seconds that each side takes, measured in turns, so that other load on the machine affects all of them. Each
    round starts with another side. If a side returns a number, that is the time that it took."""
    took: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(-warm, rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            started = time.perf_counter()
            told = await sides[name]()
            if number >= 0:
                took[name].append(told if isinstance(told, float) else time.perf_counter() - started)
    return took


# Servers


class Project:
    """A folder with a `doorward.toml`."""

    def __init__(self, folder: Path, servers: str = "", head: str = HEAD) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.config = folder / "doorward.toml"
        self.config.write_text(head + servers)
        self.serve = [PYTHON, "-m", "doorward", "serve", "--config", str(self.config)]

    def compile(self) -> Any:
        done = subprocess.run(
            [PYTHON, "-m", "doorward", "compile", "--json", "--config", str(self.config)],
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout)["servers"]


def openapi(specs: Mapping[str, str]) -> str:
    """The tables of servers, by name and document."""
    table = '[servers.{}]\nsource = "openapi"\nspec = {}\nbase_url = "http://127.0.0.1:9"\n'
    return "".join(table.format(name, json.dumps(spec)) for name, spec in specs.items())


@contextlib.asynccontextmanager
async def connected(command: Sequence[str], mode: str = "auto") -> AsyncIterator[Client]:
    """A client of the SDK, connected to a server that it starts."""
    with open(os.devnull, "w") as null:
        parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))
        async with Client(stdio_client(parameters, errlog=null), mode=mode) as client:
            await client.list_tools()
            yield client


class Wire:
    """A client without an SDK, as cheap as possible, to show what an agent's client that is not in Python sees."""

    def __init__(self, command: Sequence[str], *, stderr: Path | None = None) -> None:
        """`stderr`: where the server's standard error goes; nowhere if not given."""
        with open(stderr or os.devnull, "wb") as told:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told)
        self._id = 0

    @property
    def process(self) -> int:
        """The number of the server's process."""
        return self._process.pid

    def ask(self, method: str, params: Any = None) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._id += 1
        self._tell({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}})
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._id:
                assert "result" in message, message
                return message["result"]
        raise EOFError

    def _tell(self, message: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def connect(self) -> Wire:
        self.ask(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        )
        self._tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
