"""Clients of the HTTP endpoint that keep it waiting, ask too much, go, or speak no good HTTP: others are served, and
nothing is left."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from .conftest import LIMITS
from .forked import Forked, project, shelf
from .product import PATIENCE, Api, Project, connected, needs_proc, until
from .test_http import HELLO
from .test_http_auth import post, token

__all__ = ["project", "shelf"]

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MANY = 600
"""Bad connections at once."""

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
ERAS = ("auto", "legacy")
MODERN = "MCP-Protocol-Version: 2026-07-28"
META = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


class Narrow(Project):
    """A project whose processes may have few files open."""

    files = 128

    def command(self, *words: str) -> list[str]:
        return ["sh", "-c", f'ulimit -n {self.files}; exec "$@"', "sh", *super().command(*words)]


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    """These tests hold more connections than a process may by itself."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def opened(url: str, data: bytes = b"") -> socket.socket:
    """A connection on which this was sent."""
    parts = urlsplit(url)
    connection = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=PATIENCE)
    connection.sendall(data)
    return connection


def request(url: str, body: Any = b"", *headers: str, method: str = "POST") -> bytes:
    """The bytes of a request."""
    parts = urlsplit(url)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Content-Type: application/json"]
    lines += ["Accept: application/json, text/event-stream", f"Content-Length: {len(raw)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


def status(connection: socket.socket) -> int:
    """The status of the next answer; 0 if the connection ends without one."""
    with connection.makefile("rb") as file, suppress(ConnectionError):
        line = file.readline()
        return int(line.split()[1]) if line else 0
    return 0


def all_of(connection: socket.socket) -> bytes:
    """What comes until the other side closes. Raises: TimeoutError if it does not."""
    with connection.makefile("rb") as file, suppress(ConnectionError):
        return file.read()
    return b""


def session_of(url: str, secret: str | None = None) -> str:
    return post(url, secret)[1]["mcp-session-id"]


def files_of(pid: int, kind: str = "") -> int:
    """How many files a process has open, or how many of a kind (`socket:`)."""
    found = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            found += os.readlink(file).startswith(kind)
    return found


HALF = {
    "nothing": b"",
    "half a header": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-",
    "half a body": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
    b"1000\r\n\r\n{",
    "half a body that nobody wants": b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n{",
    "half a chunk": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{",
}


@needs_proc
async def test_half_requests_keep_nobody_out(tmp_path: Path) -> None:
    """Six hundred are held, of each kind nearly as many as there may be files; clients of both eras come and run
    programs meanwhile; then the six hundred are closed."""
    halves = itertools.cycle(HALF.values())
    project = Narrow(tmp_path, LIMITS, {"DOORWARD_HTTP__HEADER_TIMEOUT": "6", "DOORWARD_HTTP__BODY_TIMEOUT": "6"})
    with project.http() as (url, serving), ExitStack() as held:
        async with connected(url) as agent:
            await agent.run("1")
        before, sockets = files_of(serving.pid), files_of(serving.pid, "socket:")  # with what the first run brings
        bad = [held.enter_context(opened(url, next(halves))) for _ in range(MANY)]
        for era in ERAS:
            async with connected(url, era) as agent:
                assert await agent.value("6 * 7") == 42
                bad += [held.enter_context(opened(url, next(halves))) for _ in range(20)]
                assert await agent.value("7 * 6") == 42
        assert until(lambda: files_of(serving.pid) <= before + Narrow.files // 2)
        assert until(lambda: files_of(serving.pid, "socket:") <= sockets)
        for connection in bad:
            all_of(connection)
        assert post(url)[0] == 200
    assert len(project.said()) < 20_000


@needs_proc
async def test_files_that_others_hold_are_survived(tmp_path: Path) -> None:
    """Where no descriptor is left to accept a connection with, that is said a few times, and is over when there is one
    again."""
    project = Narrow(tmp_path, LIMITS)
    with project.http() as (url, serving), ExitStack() as held:
        resource = pytest.importorskip("resource")
        before = resource.prlimit(serving.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(serving.pid, resource.RLIMIT_NOFILE, (files_of(serving.pid) + 5, before[1]))
        for _ in range(MANY):
            held.enter_context(opened(url, HALF["half a header"]))
        assert until(lambda: "http_accept_failed" in project.said())
        await anyio.sleep(1)
        resource.prlimit(serving.pid, resource.RLIMIT_NOFILE, before)
        assert until(lambda: post(url)[0] == 200)
    assert len(project.said()) < 20_000


async def test_connections_without_requests_are_closed(tmp_path: Path) -> None:
    """One that was answered may ask again for a while, and no longer."""
    project = Forked(tmp_path, LIMITS, {"DOORWARD_HTTP__IDLE_TIMEOUT": "1"})
    with project.http() as (url, _), opened(url, request(url, HELLO)) as connection:
        assert all_of(connection).startswith(b"HTTP/1.1 200")


def test_a_session_keeps_little(shelf: Project, http_url: str) -> None:
    """What a client says of itself is short; `initialize` with megabytes is refused, and so is any request that wants
    no megabytes."""
    capabilities = {"experimental": {"x": {"y": [[]] * 800_000}}}
    assert post(http_url, None, {**HELLO, "params": {**HELLO["params"], "capabilities": capabilities}})[0] == 413  # type: ignore[dict-item]
    session = session_of(http_url)
    assert post(http_url, None, {**LIST, "params": {"x": "y" * 100_000}}, Mcp_Session_Id=session)[0] == 413
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": META | {"x": "y" * 100_000}}
    modern = {"MCP_Protocol_Version": "2026-07-28"}
    assert post(http_url, None, listen, **modern, Mcp_Method="subscriptions/listen")[0] == 413
    assert post(http_url, None, listen, **modern, Mcp_Method="tools/call")[0] == 400, "the SDK compares"
    code = {"code": "x = ''\nresult = len(x)", "params": {"x": "y" * 100_000}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_code", "arguments": code}}
    assert '"value":100000' in post(http_url, None, call, Mcp_Session_Id=session)[2]


def test_sessions_of_one_make_room_for_their_own(tmp_path: Path) -> None:
    """As many as a principal may have; those in which nothing was asked go first; others' stay."""
    project = Forked(tmp_path, LIMITS, {"DOORWARD_HTTP__SESSIONS": "4"})
    alice, bob = (token(project, name)["token"] for name in ("alice", "bob"))

    def good(session: str, secret: str = alice) -> bool:
        answered = post(url, secret, LIST, Mcp_Session_Id=session)[0]
        assert answered in (200, 404)
        return answered == 200

    with project.http() as (url, _):
        of_bob, asked = session_of(url, bob), session_of(url, alice)
        assert good(asked)
        silent = [session_of(url, alice) for _ in range(40)]
        assert good(asked)
        assert good(of_bob, bob)
        assert [good(session) for session in silent[:-3]] == [False] * 37
        assert [good(session) for session in silent[-3:]] == [True] * 3
        assert not any(good(session, bob) for session in (asked, *silent[-3:]))
        session_of(url, alice)
        assert not good(asked), "it was not used for longest"


async def test_streams_of_one_leave_room_for_what_they_ask(tmp_path: Path) -> None:
    """A principal's streams take half of their requests at most, and their requests those of nobody else."""
    project = Forked(tmp_path, LIMITS, {"DOORWARD_HTTP__REQUESTS": "8"})
    alice, bob = (token(project, name)["token"] for name in ("alice", "bob"))
    listen = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": True}, **META},
    }
    with project.http() as (url, _), ExitStack() as held:
        bearer = f"Authorization: Bearer {alice}"
        raw = request(url, listen, MODERN, "Mcp-Method: subscriptions/listen", bearer)
        streams = [held.enter_context(opened(url, raw)) for _ in range(4)]
        assert [status(stream) for stream in streams] == [200] * 4
        with opened(url, raw) as fifth:
            assert status(fifth) == 503
        session = session_of(url, alice)
        assert post(url, alice, LIST, Mcp_Session_Id=session)[0] == 200
        body = request(url, b"x" * 1000, bearer)[:-500]
        held_bodies = [held.enter_context(opened(url, body)) for _ in range(4)]
        assert until(lambda: post(url, alice)[0] == 503)
        assert post(url, bob)[0] == 200
        for connection in held_bodies:
            connection.close()
        assert until(lambda: post(url, alice)[0] == 200)


LOOP = 'import shelf\nshelf.mark(name="{}")\nwhile True:\n    pass\n'


def calling(code: str) -> dict[str, Any]:
    arguments = {"code": code, "timeout": 250}
    return {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "execute_code", "arguments": arguments, **META},
    }


def running(url: str, code: str, era: str) -> socket.socket:
    """A connection on which a program was sent."""
    headers = (
        (MODERN, "Mcp-Method: tools/call", "Mcp-Name: execute_code")
        if era == "auto"
        else (f"Mcp-Session-Id: {session_of(url)}",)
    )
    return opened(url, request(url, calling(code), *headers))


def finished(project: Project) -> list[str]:
    with suppress(FileNotFoundError):
        return [line["error"] for line in project.audit() if line["event"] == "run_finished" and not line["ok"]]
    return []


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_closes_its_connection_ends_its_run(project: Project, api: Api, era: str) -> None:
    """Nobody could come for its answer. CONTRACT: CLI-02."""
    with project.http() as (url, _):
        with running(url, LOOP.format(f"gone-{era}"), era):
            assert api.marked(f"gone-{era}")
            assert not finished(project)
        assert until(lambda: finished(project)) == ["limit:Cancelled"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_gives_up_ends_its_run(project: Project, api: Api, era: str) -> None:
    """The SDK's client, which is cancelled while it waits."""
    with project.http() as (url, _):
        async with connected(url, era) as agent, anyio.create_task_group() as group:
            group.start_soon(agent.run, LOOP.format(f"given-up-{era}"))
            assert await anyio.to_thread.run_sync(api.marked, f"given-up-{era}")
            group.cancel_scope.cancel()
        assert until(lambda: finished(project)) == ["limit:Cancelled"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_end_of_the_server_is_an_answer(project: Project, api: Api, era: str) -> None:
    """What runs is suspended and its client told, as the SDK's client and as bytes; streams end whole."""
    project.env["DOORWARD_HTTP__GRACE"] = "3"
    with project.http() as (url, serving), ExitStack() as held:
        raw = held.enter_context(running(url, LOOP.format(f"raw-end-{era}"), era))
        news = request(url, b"", f"Mcp-Session-Id: {session_of(url)}", method="GET")
        stream = held.enter_context(opened(url, news))
        for half in HALF.values():  # nobody waits for these
            held.enter_context(opened(url, half))
        async with connected(url, era) as agent, anyio.create_task_group() as group:

            async def run() -> None:
                outcome = await agent.call("execute_code", code=LOOP.format(f"end-{era}"), timeout=250)
                assert outcome["waiting"]["for"] == "stop"

            await agent.value("1")  # the SDK's client asks for the schema of answers once
            group.start_soon(run)
            for name in (f"raw-end-{era}", f"end-{era}"):
                assert await anyio.to_thread.run_sync(api.marked, name)
            serving.send_signal(signal.SIGTERM)
        answer = all_of(raw)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"for":"stop"' in answer
        assert era == "auto" or answer.endswith(b"\r\n0\r\n\r\n")
        assert all_of(stream).endswith(b"\r\n0\r\n\r\n")
        assert serving.wait(PATIENCE) == 0
    assert "Traceback" not in project.said()
    assert "event" not in project.said()


def test_a_stream_that_is_opened_again(http_url: str) -> None:
    """Events are not kept: whoever names the last one gets those to come."""
    session = f"Mcp-Session-Id: {session_of(http_url)}"

    def answered(last: str) -> int:
        with opened(http_url, request(http_url, b"", session, f"Last-Event-ID: {last}", method="GET")) as stream:
            return status(stream)

    for last in ("1", "x" * 100, ""):
        found = until(lambda last=last: (now := answered(last)) != 409 and now)  # type: ignore[misc]  # while the one before it ends
        assert found == 200


def odd(url: str) -> dict[str, tuple[bytes, set[int]]]:
    """What is no good HTTP, or none of ours; and what may be answered (0: nothing)."""
    host = f"Host: {urlsplit(url).netloc}\r\n"
    good, chunked = request(url, HELLO), request(url, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    return {
        "pipelined": (good * 3, {200}),
        "much pipelined": (f"GET /x HTTP/1.1\r\n{host}\r\n".encode() * 200, {404}),
        "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100), {400, 421}),
        "an upgrade to it": (
            request(url, HELLO, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMA"),
            {200},
        ),
        "a web socket": (request(url, b"", "Connection: Upgrade", "Upgrade: websocket", method="GET"), {400}),
        "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400}),
        "two hosts": (request(url, HELLO, "Host: evil.example"), {400}),
        "no host": (b"GET /mcp HTTP/1.0\r\n\r\n", {421}),
        "two lengths": (request(url, HELLO, "Content-Length: 5"), {400}),
        "length and chunks": (request(url, HELLO, "Transfer-Encoding: chunked"), {400}),
        "another encoding": (chunked.replace(b"chunked", b"gzip, chunked"), {400}),
        "a length below 0": (good.replace(b"Content-Length: ", b"Content-Length: -"), {400}),
        "a long length": (good.replace(b"Content-Length: ", b"Content-Length: " + b"9" * 5000), {400}),
        "many headers": (f"GET /mcp HTTP/1.1\r\n{host}".encode() + b"a: b\r\n" * 40_000 + b"\r\n", {0, 400}),
        "a long header": (f"GET /mcp HTTP/1.1\r\n{host}a: {'b' * 100_000}\r\n\r\n".encode(), {0, 400}),
        "a long path": (f"GET /{'b' * 100_000} HTTP/1.1\r\n{host}\r\n".encode(), {0, 400}),
        "a line that goes on": (f"GET /mcp HTTP/1.1\r\n{host} a: b\r\n\r\n".encode(), {400, 421}),
        "a proxy's target": (good.replace(b"POST /mcp", b"POST http://evil.example/mcp"), {404}),
        "CONNECT": (good.replace(b"POST /mcp", b"CONNECT evil.example:443"), {404, 405}),
        "two sessions": (request(url, LIST, "Mcp-Session-Id: a", "Mcp-Session-Id: b"), {404}),
        "two versions": (request(url, HELLO, "Mcp-Protocol-Version: 2025-06-18", MODERN), {200, 400}),
        "deep JSON": (request(url, b"[" * 8000 + b"]" * 8000), {400}),
        "a long number": (
            request(url, b'{"jsonrpc": "2.0", "id": ' + b"9" * 8000 + b', "method": "initialize"}'),
            {400},
        ),
        "half a character": (request(url, {**HELLO, "id": "\ud800"}), {200, 400}),
        "tiny chunks": (chunked + b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n", {0, 413}),
        "a long chunk extension": (chunked + b"1;" + b"a" * 300_000 + b"\r\n \r\n", {0, 400}),
        "many trailers": (chunked + b"1\r\n \r\n0\r\n" + b"a: b\r\n" * 100_000 + b"\r\n", {0, 400}),
    }


def test_odd_requests_do_no_harm(tmp_path: Path) -> None:
    """Each is refused, or answered as it deserves; the next one is answered; what is said of them stays short."""
    project = Forked(tmp_path, LIMITS)
    with project.http() as (url, serving):
        for what, (raw, expected) in odd(url).items():
            with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=PATIENCE) as connection:
                with suppress(ConnectionError):
                    connection.sendall(raw)
                assert status(connection) in expected, what
            assert post(url)[0] == 200, what
        for _ in range(100):
            with opened(url, b"rubbish\r\n\r\n") as connection:
                assert status(connection) in (0, 400)
        assert serving.poll() is None
    said = project.said()
    assert len(said) < 20_000
    assert "Traceback" not in said
    assert said.count("Invalid HTTP request") <= 20
