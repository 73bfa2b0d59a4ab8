"""Upstreams of real servers: those of `servers/`, started as their users would start them, or listening on loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doorward import Call, Function, ServerContext
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.upstream import Upstream
from doorward_testing import reserve_port

SERVERS = Path(__file__).parent / "servers"
SDK, RAW = str(SERVERS / "sdk.py"), str(SERVERS / "raw.py")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _helpers(host: Any) -> None:
    """Programs have the helpers that make calls."""
    host.install_real("program_helpers", "observed", "text")


class LoginPrompt:
    """The client that asked for a run: it answers at once, or after `seconds`, while the run's clock stands still, and
    remembers what it heard."""

    def __init__(self, answer: Mapping[str, Any] | Exception | None = None, seconds: float = 0.0) -> None:
        self.answer = answer if answer is not None else {"action": "accept", "content": {"name": "Ann"}}
        self.seconds = seconds
        self.clock = Call(Function("x", "f"), {}).clock
        self.asked: list[tuple[str, Any]] = []
        self.progressed: list[tuple[float, float | None, str]] = []

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.progressed.append((done, total, message))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((method, params))
        with self.clock.still():
            await asyncio.sleep(self.seconds)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def call_of(client: LoginPrompt | None, seconds: float = 60.0) -> Call:
    call = Call(Function("x", "f"), {}, run=f"run of {id(client)}", deadline=time.monotonic() + seconds, client=client)
    return replace(call, clock=client.clock, deadline=client.clock.now() + seconds) if client else call


class Upstreams:
    """Makes upstreams, and closes them in the end. `changes` counts how often one said that it is another now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.secrets = Secrets(environ=os.environ)
        self.changes = 0
        self._made: list[Upstream] = []

    def __call__(self, auth: Any = None, **settings: Any) -> Upstream:
        def changed() -> None:
            self.changes += 1

        found = validate(MCPSettings, settings, secrets=self.secrets, place="doorward.toml [servers.x]")
        upstream = Upstream(
            ServerContext("x", found, self.folder, self.state, lambda: auth, changed, self.secrets.scrub)
        )
        self._made.append(upstream)
        return upstream

    def sdk(self, *, era: str = "", env: Mapping[str, str] | None = None, **settings: Any) -> Upstream:
        return self(command=[sys.executable, SDK, "stdio"], env={"ERA": era, **(env or {})}, **settings)

    def raw(self, mode: str, *, env: Mapping[str, str] | None = None, **settings: Any) -> Upstream:
        return self(command=[sys.executable, RAW, mode], env=dict(env or {}), **settings)

    async def close(self) -> None:
        for upstream in self._made:
            await upstream.close()


@pytest.fixture
async def upstreams(tmp_path: Path) -> AsyncIterator[Upstreams]:
    made = Upstreams(tmp_path)
    yield made
    await made.close()


class Listening:
    """A server of `servers/sdk.py` on loopback that can be stopped and started again at the same port."""

    def __init__(self, kind: str, era: str = "", env: Mapping[str, str] | None = None) -> None:
        self.port = reserve_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._command = [sys.executable, SDK, kind, str(self.port)]
        self._env = {**os.environ, "ERA": era, **(env or {})}
        self.start()

    def start(self, **more: str) -> None:
        self.process = subprocess.Popen(self._command, env=self._env | more)
        until = time.monotonic() + 100
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert self.process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def listening(kind: str, era: str = "", **env: str) -> Iterator[Listening]:
    server = Listening(kind, era, env)
    yield server
    server.kill()


@pytest.fixture(scope="session")
def http_modern() -> Iterator[Listening]:
    yield from listening("http")


@pytest.fixture(scope="session")
def http_legacy() -> Iterator[Listening]:
    yield from listening("http", "legacy")


@pytest.fixture(scope="session")
def http_sse() -> Iterator[Listening]:
    yield from listening("sse", "legacy")


def alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits to be buried does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def text_of(result: Mapping[str, Any]) -> str:
    return str(result["content"][0]["text"])
