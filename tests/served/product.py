"""What these tests use: processes found in /proc, the API, a project folder, `doorward serve`, and clients of it."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

import pytest
from doorward_testing import reserve_port
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from .api import COMPLAIN, COMPLAINED

T = TypeVar("T")

DOORWARD = [sys.executable, "-m", "doorward"]
PATIENCE = 300.0
"""Seconds that anything may take before a test gives up. Nothing waits for as long when all is well; on a busy machine, a
start of `doorward serve` takes a minute."""

TOOLS = [
    "list_servers", "search_functions", "get_functions", "execute_code", "run_cached_code", "commit_plan",
]  # fmt: skip
"""What an agent is offered where Monty runs programs."""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="finds processes in /proc, which only Linux has"
)

PASSED_ON = ("PATH", "TMPDIR", "LANG", "SYSTEMROOT", "COVERAGE_PROCESS_CONFIG")
"""Of the environment of the tests, what the product gets: the last is there when `make coverage` measures."""

BASE = """\
state = "state"
executor = "monty"
cache = "sqlite"
plugins = ["ast", "audit_jsonl"]
"""
"""The head of a configuration; `[limits]` and servers come after it."""


def until(found: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `found` answers as soon as it is true; its last answer if that takes too long."""
    end = time.monotonic() + patience
    while not (answer := found()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


@contextlib.contextmanager
def web(handler: Any) -> Iterator[str]:
    """The base URL of an HTTP server on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Answering(BaseHTTPRequestHandler):
    """What answers with JSON, and prints nothing."""

    def answer(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        for name, header in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, header)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


def module(file: str) -> Any:
    """What a file of another folder of tests has: a path from the root of the repository."""
    name = f"doorward_test_{Path(file).stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).resolve().parents[2] / file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


class _Folder(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def web_of(folder: Path) -> contextlib.AbstractContextManager[str]:
    """The same, of the files in a folder."""
    return web(partial(_Folder, directory=str(folder)))


# Processes


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; none if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


Process = tuple[int, str]
"""A process id and the time at which it started, for ids are used again."""


def process(pid: int) -> Process:
    return pid, (_stat(pid) or [""] * 20)[19]


def alive(one: Process) -> bool:
    """Whether it is still that process, and runs: a zombie does not."""
    stat = _stat(one[0])
    return bool(stat) and stat[19] == one[1] and stat[0] not in "ZX"


def descendants(pid: int) -> list[Process]:
    """The processes below one, the nearest first."""
    parents = {int(p.name): int(stat[1]) for p in Path("/proc").glob("[0-9]*") if (stat := _stat(int(p.name)))}
    found, level = [], [pid]
    while level:
        level = [child for child, parent in parents.items() if parent in level]
        found += level
    return [process(child) for child in found]


def end(popen: subprocess.Popen[Any]) -> None:
    """End a process that we started, whatever it does."""
    with contextlib.suppress(OSError):
        popen.stdin and popen.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen.terminate()
        popen.wait(5)
    popen.kill()
    popen.wait()


# The API


class Api:
    """The API of `api.py` in a process of its own. `log`: the file with the names of what it has created."""

    def __init__(self, log: Path | None = None) -> None:
        self._ports = [str(reserve_port()), str(reserve_port())]
        self._log = [str(log)] if log else []
        self.start()

    def start(self) -> None:
        """Start it, at the same address as the last time."""
        command = [sys.executable, str(Path(__file__).with_name("api.py")), *self._ports, *self._log]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url, self.other = json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def get(self, path: str) -> Any:
        with urlopen(self.url + path, timeout=PATIENCE) as answer:
            return json.load(answer)

    def seen(self) -> list[dict[str, Any]]:
        """The requests that it got, each with the credentials in it."""
        return list(self.get("/log")["seen"])

    def marked(self, name: str) -> bool:
        """Whether a program has called `mark(name=…)`; waits for it."""
        return until(lambda: name in self.get("/log")["marks"])

    @contextlib.contextmanager
    def hurried(self) -> Iterator[None]:
        """A block in which `slow` waits for nothing, also what has begun to."""
        self.get("/hurry/1")
        try:
            yield
        finally:
            self.get("/hurry/0")

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *raised: object) -> None:
        end(self.process)


# A project


class Project:
    """A folder with a `doorward.toml`, and the environment in which Doorward runs there."""

    def __init__(self, folder: Path, config: str, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.file = folder / "doorward.toml"
        self.state = folder / "state"
        self.stderr = folder / "stderr"
        self.env = {"HOME": str(folder), **(env or {})}
        folder.mkdir(parents=True, exist_ok=True)
        self.configure(config)

    def configure(self, config: str) -> None:
        self.file.write_text(BASE + config)

    def change(self, old: str = "", new: str = "", *, first: str = "", last: str = "") -> None:
        """Change the configuration: replace `old`, and put text before and after all."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(first + (text.replace(old, new, 1) if old else text) + last)

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k in PASSED_ON}
        return {**kept, **self.env}

    def command(self, *words: str) -> list[str]:
        return [*DOORWARD, *words, "--config", str(self.file)]

    def run(self, *words: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess[str]:
        """A command of the command line, to its end."""
        return subprocess.run(
            self.command(*words),
            env=self.environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def audit(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.state / "doorward.audit.jsonl").read_text().splitlines()]

    def said(self) -> str:
        """What `doorward serve` has said on standard error."""
        return self.stderr.read_text(errors="replace")

    @contextlib.contextmanager
    def http(self, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        """`doorward serve --transport http` on a free port: its URL and its process."""
        with self.stderr.open("ab") as errors, (self.folder / "stdout").open("ab") as output:
            before = len(self.said())
            command = self.command("serve", "--transport", "http", "--port", "0", *options)
            serving = subprocess.Popen(
                command, env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
            )
            try:
                until(lambda: "Serving MCP at" in self.said()[before:] or serving.poll() is not None)
                url = self.said()[before:].rpartition("Serving MCP at ")[2].split()[0]
                yield url, serving
            finally:
                end(serving)

    @contextlib.asynccontextmanager
    async def stdio(
        self, era: str = "auto", command: list[str] | None = None, **callbacks: Any
    ) -> AsyncIterator[Agent]:
        """The SDK's client, connected by stdio to a `doorward serve` of its own; it can be asked what has a
        callback."""
        program, *arguments = command or self.command("serve")
        server = StdioServerParameters(command=program, args=arguments, env=self.environment(), cwd=self.folder)
        with self.stderr.open("a") as errors:
            try:
                async with Client(
                    stdio_client(server, errlog=errors), mode=era, read_timeout_seconds=PATIENCE, **callbacks
                ) as client:
                    yield Agent(client)
            except BaseException as error:
                error.add_note(f"doorward serve said: {self.said()[-2000:]}")
                raise


@contextlib.asynccontextmanager
async def connected(url: str, era: str = "auto", **callbacks: Any) -> AsyncIterator[Agent]:
    """The SDK's client, connected by streamable HTTP."""
    async with Client(url, mode=era, read_timeout_seconds=PATIENCE, **callbacks) as client:
        yield Agent(client)


@contextlib.asynccontextmanager
async def apart(manager: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """A context in a task of its own. All fixtures have one task, and cancel scopes of one task must end in the order
    opposite to that in which they began: contexts of fixtures that live longer than one test do not, where tests run in
    any order."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            async with manager as value:
                entered.set_result(value)
                await over.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    holding = asyncio.ensure_future(hold())
    try:
        yield await entered
    finally:
        over.set()
        await holding


class Agent:
    """The SDK's client, and all that it received."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.received: list[str] = []

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The structured content of a tool's answer; its text if it has none."""
        answer = await self.client.call_tool(tool, arguments)
        self.received.append(answer.model_dump_json(by_alias=True))
        self.text = "\n".join(block.text for block in answer.content if block.type == "text")
        return self.text if answer.structured_content is None else answer.structured_content

    async def run(self, code: str, **options: Any) -> Any:
        """The answer of `execute_code`."""
        return await self.call("execute_code", code=code, **options)

    async def complaint(self) -> None:
        """What an API complains of reaches a program that catches it, and the reader of one that does not."""
        answer = await self.run(COMPLAIN)
        told, status, place = ast.literal_eval(answer["printed"])
        assert (status, place) == (422, ["body", "name"])
        assert told.endswith(COMPLAINED)
        assert (answer["error"]["type"], answer["error"]["message"], answer["error"]["line"]) == ("ApiError", told, 7)
        assert COMPLAINED in self.text

    async def late(self) -> None:
        """A program whose time is over is told with its line: while it computes, sleeps or awaits."""
        for work in ("pass", "time.sleep(600)", "await asyncio.sleep(600)"):
            answer = await self.run(f"import asyncio, time\nwhile True:\n    {work}\n", timeout=2)
            assert answer["error"]["type"] == "TimeoutError"
            assert answer["error"]["line"] in ({2, 3} if work == "pass" else {3}), work

    async def value(self, code: str, **options: Any) -> Any:
        """The value of a program that must succeed."""
        answer = await self.run(code, **options)
        assert answer.get("ok"), answer
        return answer["value"]


# A client by hand: it knows the process, and leaves as it likes


class Wire:
    """JSON-RPC by hand with a `doorward serve` of our own: nothing stands between us and the process."""

    def __init__(self, project: Project, command: list[str] | None = None) -> None:
        with project.stderr.open("ab") as errors:
            self.process = subprocess.Popen(
                command or project.command("serve"),
                env=project.environment(),
                cwd=project.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._id = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, method: str, params: Any = None, *, notify: bool = False) -> int:
        """Send a request; its id."""
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method} | ({"params": params} if params is not None else {})
        if not notify:
            self._id += 1
            message["id"] = self._id
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._id

    def answer(self, number: int) -> Any:
        """The result of a request. Raises: EOFError if the server ends, queue.Empty if it does not answer."""
        while True:
            line = self._lines.get(timeout=PATIENCE)
            if not line:
                raise EOFError
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                assert "result" in message, message
                return message["result"]

    def ask(self, method: str, params: Any = None) -> Any:
        return self.answer(self.send(method, params))

    def connect(self) -> Wire:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        self.ask("initialize", hello)
        self.send("notifications/initialized", notify=True)
        return self

    def start(self, code: str, **options: Any) -> int:
        """Send a program; the id of the request."""
        return self.send("tools/call", {"name": "execute_code", "arguments": {"code": code, **options}})

    def run(self, code: str, **options: Any) -> Any:
        return self.answer(self.start(code, **options))["structuredContent"]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send a signal to the server; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *raised: object) -> None:
        end(self.process)
        assert self.process.stdout is not None
        self.process.stdout.close()
