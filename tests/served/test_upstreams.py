"""MCP servers behind Doorward as an agent meets them: connected when first called, kept, by every transport, with what
is theirs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from doorward_testing import reserve_port

from .conftest import LIMITS
from .forked import Forked, script
from .product import Agent, Project, apart, descendants, end, until

pytestmark = pytest.mark.anyio

SERVERS = Path(__file__).parents[2] / "plugins/mcp_upstream/tests/servers"
SECRET = "s3cret-of-the-upstream"
HIDDEN = "[secret]"
"""What a program sees of it when the server gives it back: it has arrived, and goes no further."""


@contextlib.contextmanager
def listening(kind: str, **env: str) -> Iterator[str]:
    """A server of the SDK on loopback: its URL."""
    port = reserve_port()
    process = subprocess.Popen(script(SERVERS / "sdk.py", kind, str(port)), env={**os.environ, **env})
    try:
        until(lambda: _answers(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        end(process)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _server(name: str, **keys: object) -> str:
    lines = "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items())
    return f'[servers.{name}]\nsource = "mcp"\n{lines}'


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {json.dumps(text)}" for key, text in value.items()) + "}"
    return json.dumps(value)


RAW = [sys.executable, str(SERVERS / "raw.py")]
CHATTY = _server("chatty", command=[*RAW, "banner"])
"""A server that starts at once: it does not import the SDK."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Compiled before it is served, as after a restart."""
    sdk = script(SERVERS / "sdk.py", "stdio")
    with listening("http") as http, listening("sse") as sse:
        config = LIMITS + _server("started", command=sdk, env={"TOKEN": "${TOKEN}", "ERA": "legacy"})
        config += _server("newer", command=sdk) + CHATTY
        config += _server("remote", url=http, headers={"X-Token": "${TOKEN}"}) + _server("older", url=sse)
        project = Forked(tmp_path_factory.mktemp("upstreams"), config, {"TOKEN": SECRET, "OURS": "not theirs"})
        compiled = project.run("compile", "--json")
        assert compiled.returncode == 0, compiled
        yield project


@pytest.fixture(scope="module")
async def agent(anyio_backend: str, project: Project) -> AsyncIterator[Agent]:
    async with apart(project.stdio()) as agent:
        yield agent


def _started() -> int:
    """How many servers run that were started by a command: below this process, whoever started them."""
    files = [Path(f"/proc/{pid}/cmdline") for pid, *_ in descendants(os.getpid())]
    words = [file.read_bytes() for file in files if file.exists()]
    return sum(b"/servers/" in line and line.endswith((b"stdio\0", b"banner\0")) for line in words)


async def test_connected_by_the_first_call_and_kept(project: Project) -> None:
    """A start connects to nothing; the first call starts the server; the next runs find the same process. CONTRACT:
    EXE-11, EXE-12, OBS-04."""
    others = _started()
    async with project.stdio() as agent:
        listed = await agent.call("list_servers")
        assert {s["name"]: s["functions"] > 0 for s in listed["servers"]} == dict.fromkeys(
            ("chatty", "newer", "older", "remote", "started"), True
        )
        assert _started() == others
        first = await agent.value("import started\nresult = started.pid()")
        assert _started() == others + 1
        assert await agent.value("import started\nresult = started.pid()") == first
        os.kill(int(first), signal.SIGKILL)
        assert await agent.value("import started\nresult = started.pid()") != first
    assert until(lambda: _started() == others)


@pytest.mark.parametrize("server", ["started", "newer", "remote", "older", "chatty"])
async def test_every_transport_is_called_alike(agent: Agent, server: str) -> None:
    """Standard input and output in both eras, streamable HTTP, and the older HTTP with server-sent events, which nobody
    named; a server that prints banners and blank lines. CONTRACT: MCP-01, MCP-02, MCP-03, MCP-04, SEC-14."""
    text = '{"text": "hello"}' if server != "chatty" else "{}"
    arguments = "text='hello'" if server != "chatty" else ""
    assert await agent.value(f"import {server}\nresult = {server}.echo({arguments})") == json.loads(text)


async def test_a_server_gets_what_its_entry_gives(project: Project, agent: Agent) -> None:
    """Its `env` and `headers`, with values of variables; nothing of our environment; and no value of them comes back.
    CONTRACT: AUT-14, MCP-12."""
    environment = await agent.value("import started\nresult = started.environment()")
    headers = await agent.value("import remote\nresult = remote.headers()")
    assert "OURS" not in environment
    assert environment["ERA"] == "legacy"
    assert environment["cwd"] == str(project.folder)
    assert environment["TOKEN"] == headers["x-token"] == HIDDEN


async def test_a_server_that_is_switched_off(tmp_path: Path) -> None:
    """With `disabled = true` its command is never run, nobody is told of it, and no program reaches it. CONTRACT:
    MCP-05."""
    ran = tmp_path / "ran"
    off = [sys.executable, "-c", f"open({str(ran)!r}, 'w')"]
    switched = Forked(tmp_path, LIMITS + CHATTY + _server("off", command=off) + "disabled = true\n")
    assert json.loads(switched.run("compile", "--json").stdout)["servers"].keys() == {"chatty"}
    async with switched.stdio() as agent:
        listed = await agent.call("list_servers")
        assert [server["name"] for server in listed["servers"]] == ["chatty"]
        assert not (await agent.run("import off\noff.echo()"))["ok"]
    assert not ran.exists()


async def test_what_goes_wrong_is_said(tmp_path: Path) -> None:
    """A command that does not exist, a server that crashes, one that is silent: each is told by its name, with what to
    do or what it said itself; the others go on. CONTRACT: OUT-05."""
    wrong = _server("missing", command=["no-such-program"]) + _server("crashing", command=[*RAW, "crash"])
    wrong += _server("silent", command=[*RAW, "silent"], start_timeout=1)
    broken = Forked(tmp_path, LIMITS + CHATTY + wrong)
    compiled = json.loads(broken.run("compile", "--json").stdout)["servers"]
    assert "no program 'no-such-program'" in compiled["missing"]["error"]
    assert "no such module 'cheese'" in compiled["crashing"]["error"]
    assert "did not start within 1 second" in compiled["silent"]["error"]
    assert compiled["chatty"]["functions"] == 1
    doctor = broken.run("doctor")
    assert "no such module 'cheese'" in doctor.stdout
