"""The bounds of HTTP that take their time, with less of it: readers that do not read, sessions that are not used, lines
that repeat."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
from collections.abc import AsyncIterator, Sized
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import uvicorn
from doorward.host import logs
from doorward.plugins.mcp_additions import PRINCIPAL
from doorward_mcp_server.http import connections, requests
from doorward_mcp_server.http import sessions as http_sessions
from doorward_mcp_server.http.connections import Connection, Connections, of_address
from doorward_mcp_server.http.requests import LARGE_BYTES, Requests
from doorward_mcp_server.http.sessions import HttpSessions, Refused
from doorward_mcp_server.settings import HttpSettings, origin_of
from doorward_mcp_server.transports import serve_http
from doorward_testing.samples import CONFIG
from starlette.applications import Starlette
from starlette.routing import Route

pytestmark = pytest.mark.anyio
PATIENCE = 20.0
BLOCK = 1 << 16


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def endless(scope: Any, receive: Any, send: Any) -> None:
    """An application whose answer does not end."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": bytes(BLOCK), "more_body": True})
        await asyncio.sleep(0.001)


@asynccontextmanager
async def serving(app: Any, http: HttpSettings) -> AsyncIterator[tuple[Connections, tuple[str, int]]]:
    """An application behind `Connections`, and its address."""
    settings = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
    state = uvicorn.server.ServerState()
    found = Connections(lambda: Connection(settings, state, {}, http=http), http, None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        accepting = asyncio.ensure_future(found.accept(listener))
        try:
            yield found, listener.getsockname()
        finally:
            accepting.cancel()
            found.close()
            for task in state.tasks:
                task.cancel()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(connections, "STALL_SECONDS", 2.0)


async def count(found: Sized, wanted: int) -> None:
    """Wait until there are so many."""
    async with asyncio.timeout(PATIENCE):
        while len(found) != wanted:
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_who_never_reads_is_closed(hasty: None) -> None:
    """And not who reads slowly."""
    async with serving(endless, HttpSettings()) as (found, address):
        reader, writer = await asyncio.open_connection(*address, limit=BLOCK)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        with socket.create_connection(address) as never:
            never.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await count(found, 2)
            async with asyncio.timeout(PATIENCE):
                while len(found) > 1:
                    await reader.readexactly(4 * BLOCK)
                    await asyncio.sleep(0.05)
            for _ in range(20):
                await reader.readexactly(4 * BLOCK)
                await asyncio.sleep(0.05)
        writer.close()
        await count(found, 0)


async def test_who_asks_is_not_sent_away_for_who_does_not(hasty: None) -> None:
    """Where all places are taken by requests under way, there is none; any other connection makes room, of the same
    address first."""
    over, under_way = asyncio.Event(), list[str]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/wait":
            under_way.append(scope["path"])
            await over.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        return reader, writer

    async with serving(app, HttpSettings(connections=10, connections_per_address=4)) as (found, address):
        idle = await ask("/")
        assert (await idle[0].readline()).startswith(b"HTTP/1.1 204")
        waiting = [await ask("/wait") for _ in range(2)]
        half = [await asyncio.open_connection(*address) for _ in range(5)]
        await count(found, 4)
        assert not await half[0][0].read()
        idle[1].write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await idle[0].readuntil(b"HTTP/1.1 204")
        waiting += [await ask("/wait") for _ in range(2)]
        await count(under_way, 4)
        refused = await ask("/")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await refused[0].readexactly(1)
        over.set()
        for reader, _ in waiting:
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")
        for _, writer in (idle, refused, *half, *waiting):
            writer.close()


@pytest.mark.parametrize(
    ("host", "party"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:0db8:0001:0002"),
        ("2001:db8:1:2::9", "2001:0db8:0001:0002"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
        ("", ""),
    ],
)
def test_an_ipv6_network_is_one_party(host: str, party: str) -> None:
    assert of_address(host) == party


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://App.Example.com:443", "https://app.example.com"),
        ("http://a:443", "http://a:443"),
        ("http://[::1]:80", "http://[::1]"),
        ("https://a:0443", "https://a"),
        ("https://a/", None),
        ("https://a@b", None),
        ("https://a:b", None),
        ("https://", None),
        ("https:// ", None),
        ("https://a\n", None),
        ("null", None),
    ],
)
def test_origins_are_as_browsers_write_them(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin


class Sdk:
    """What the SDK's application does with sessions."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.opened = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = []
        if scope["method"] == "DELETE":
            self.ended.append(dict(scope["headers"])[b"mcp-session-id"].decode())
        elif scope["method"] == "POST":
            self.opened += 1
            headers = [(b"mcp-session-id", str(self.opened).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def scope(principal: str, session: str = "") -> dict[str, Any]:
    headers = [(b"mcp-session-id", session.encode())] if session else []
    return {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, PRINCIPAL: principal}


async def nothing() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


async def nowhere(message: Any) -> None:
    pass


async def test_sessions_in_which_nothing_is_asked_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one in which something was, and the one that is in use, last."""
    sdk, forgotten = Sdk(), list[str]()
    sessions = HttpSessions(sdk, 10, forgotten.append)
    for _ in range(4):
        await sessions.open(scope("alice"), nothing, nowhere)
    with sessions.used(scope("alice", "2"), asked=True):
        pass
    with sessions.used(scope("bob", "4"), asked=True):  # it is not theirs
        pass
    monkeypatch.setattr(http_sessions, "UNUSED_SECONDS", 0.0)
    monkeypatch.setattr(http_sessions, "POLL_SECONDS", 0.01)
    with sessions.used(scope("alice", "3")):
        watching = asyncio.ensure_future(sessions.watch())
        await count(sdk.ended, 2)
        watching.cancel()
        assert sorted(sdk.ended) == sorted(forgotten) == ["1", "4"]
    await sessions.close()
    assert sorted(sdk.ended) == ["1", "2", "3", "4"]


async def test_sessions_are_bounded_in_all() -> None:
    """Those of other principals make room then, and one who has all of theirs in use gets no more."""
    sdk = Sdk()
    sessions = HttpSessions(sdk, 2, lambda _: None)
    for n in range(20):
        await sessions.open(scope(f"p{n}"), nothing, nowhere)
    assert sdk.ended == ["1", "2", "3", "4"]
    for _ in range(2):
        await sessions.open(scope("alice"), nothing, nowhere)
    with sessions.used(scope("alice", "21")), sessions.used(scope("alice", "22")), pytest.raises(Refused) as refused:
        await sessions.open(scope("alice"), nothing, nowhere)
    assert refused.value.status == 503


async def test_a_session_that_its_client_ends_takes_no_room() -> None:
    """Nor memory; and one that lives does not make room instead of it. Nobody ends that of another."""
    sdk, forgotten = Sdk(), list[str]()
    behind = Requests(sdk, HttpSettings(sessions=2), forgotten.append)
    await behind(scope("alice"), nothing, nowhere)
    await behind({**scope("bob", "1"), "method": "DELETE"}, nothing, nowhere)
    for closed in range(2, 7):
        await behind(scope("alice"), nothing, nowhere)
        await behind({**scope("alice", str(closed)), "method": "DELETE"}, nothing, nowhere)
    assert forgotten == ["2", "3", "4", "5", "6"]
    assert sdk.ended == ["1", *forgotten], "each by its client, and that of bob is for the SDK to refuse"
    assert [session.id for session in behind.sessions._all] == [*behind.sessions._by_id] == ["1"]


async def test_an_answer_without_an_id_opens_no_session() -> None:
    """A redirect, say: its client gets it, and nothing is kept."""
    statuses: list[int] = []

    async def redirects(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 307, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    sessions = HttpSessions(redirects, 2, lambda _: None)
    await sessions.open(scope("alice"), nothing, send)
    assert statuses == [307, 0]
    assert not sessions._all
    assert not sessions._by_id


async def test_only_what_opens_a_session_makes_room_for_it() -> None:
    """A request to another path ends none; one to a path that is taken for ours is one of ours."""
    sdk, statuses = Sdk(), list[int]()
    behind = Requests(Starlette(routes=[Route("/mcp", sdk)]), HttpSettings(sessions=1), lambda _: None)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def ask(path: str) -> None:
        await behind({**scope("alice"), "path": path, "query_string": b"", "server": ("127.0.0.1", 80)}, nothing, send)

    for path in ("/mcp", "/x", "/mcp/"):
        await ask(path)
    assert (statuses, sdk.ended) == ([200, 404, 307], [])
    await ask("/mcp\n")
    assert (statuses[-1], sdk.ended) == (200, ["1"])


async def test_nothing_is_read_of_a_client_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what it sent before and was not parsed yet: its request would be served for nobody."""
    monkeypatch.setattr(connections, "PIECE_BYTES", 16)
    asked: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])

    class Gone(asyncio.Transport):
        def is_closing(self) -> bool:
            return False

        def pause_reading(self) -> None:
            pass

        def close(self) -> None:
            pass

    settings = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
    settings.load()
    connection = Connection(settings, uvicorn.server.ServerState(), {}, http=HttpSettings())
    connection.connection_made(Gone())
    connection.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    connection.connection_lost(None)
    for _ in range(5):
        await asyncio.sleep(0)
    assert asked == []


@pytest.mark.slow
async def test_nothing_is_kept_of_connections_that_were_reset() -> None:
    """Nor the last request of each, until the time is over in which the next one could have come."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def kept() -> list[Connection]:
        gc.collect()
        return [each for each in gc.get_objects() if isinstance(each, Connection)]

    before = len(kept())
    async with serving(app, HttpSettings()) as (found, address):
        for _ in range(5):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await reader.readuntil(b"204")
            linger = struct.pack("ii", 1, 0)  # so it is a reset
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        await count(found, 0)
        await asyncio.sleep(0)
        assert len(kept()) <= before + 1, "the one that was accepted last"


@pytest.mark.slow
async def test_a_server_that_does_not_get_ready_leaves_nothing(doorward_host: Any) -> None:
    """No task of it goes on: neither when nobody can be told its URL, nor when it is cancelled as it starts."""

    def nobody(url: str) -> None:
        raise BrokenPipeError

    def tasks() -> set[str]:
        named = [f"{task.get_name()} {task.get_coro()}" for task in asyncio.all_tasks()]
        return {name for name in named if not name.startswith("doorward.servers.background_refresh")}

    async with doorward_host.gateway(CONFIG) as gate:
        before = tasks()
        with pytest.raises(BrokenPipeError):
            await serve_http(gate, "127.0.0.1", 0, ready=nobody)
        await asyncio.sleep(0)
        assert tasks() <= before
        for turns in range(1, 12):
            serving = asyncio.ensure_future(serve_http(gate, "127.0.0.1", 0))
            for _ in range(turns):
                await asyncio.sleep(0)
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving
            await asyncio.sleep(0)
            assert tasks() <= before


async def test_large_requests_wait_for_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one principal take half of the places at most; small ones need none."""
    monkeypatch.setattr(requests, "WAIT_SECONDS", 0.05)
    over, statuses = asyncio.Event(), list[int]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        if len(body) > LARGE_BYTES:
            await over.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    behind = Requests(app, HttpSettings(), lambda _: None)

    async def ask(principal: str, size: int) -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": bytes(size), "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"mcp-protocol-version", b"2026-07-28"), (b"mcp-method", b"tools/call")]
        await behind({**scope(principal), "headers": headers}, receive, send)

    held = [asyncio.ensure_future(ask("alice", LARGE_BYTES + 1)) for _ in range(requests.MAX_LARGE_REQUESTS // 2)]
    await asyncio.sleep(0)
    await ask("alice", LARGE_BYTES + 1)
    assert statuses == [503]
    await ask("alice", LARGE_BYTES)
    held.append(asyncio.ensure_future(ask("bob", LARGE_BYTES + 1)))
    over.set()
    await asyncio.gather(*held)
    await ask("alice", LARGE_BYTES + 1)
    assert statuses == [503] + [200] * (requests.MAX_LARGE_REQUESTS // 2 + 3)


async def test_a_session_keeps_no_large_message() -> None:
    """The SDK keeps the last one of each until the next: a small one follows each large one, and no other."""
    bodies: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        bodies.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    behind = Requests(app, HttpSettings(), lambda _: None)
    for size in (10, requests.MAX_KEPT_BYTES):
        call = b'{"method": "tools/call", "id": 1, "x": "' + b"x" * size + b'"}'

        async def receive(call: bytes = call) -> Any:
            return {"type": "http.request", "body": call, "more_body": False}

        await behind(scope("alice", "1"), receive, nowhere)
    assert len(bodies) == 3
    assert b"notifications/cancelled" in bodies[2]
    assert b"requestId" not in bodies[2]


def test_lines_that_repeat_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few are written; the first one of the next minute says how many were not."""
    bounded = logs.Bounded()
    answers = [bounded.left_out("a") for _ in range(logs.MAX_LINES + 5)]
    assert answers == [0] * logs.MAX_LINES + [None] * 5
    assert bounded.left_out("b") == 0
    monkeypatch.setattr(logs, "PERIOD_SECONDS", 0.0)
    assert bounded.left_out("a") == 5
    assert bounded.left_out("a") == 0


async def test_nothing_is_asked_of_sessions_that_are_being_ended() -> None:
    """A request that comes while the server ends its sessions is told to try again, and does not reach the SDK."""
    asked: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["method"])

    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    passing = Requests(app, HttpSettings(), lambda session: None)
    await passing.end()
    await passing({"type": "http", "method": "POST", "path": "/mcp", "headers": [], PRINCIPAL: "alice"}, receive, send)
    assert (asked, answers[0]["status"]) == ([], 503)
    assert b"shutting down" in answers[1]["body"]


async def test_a_client_that_leaves_is_no_error() -> None:
    """The SDK answers a notification, answers again when its session ends in the middle of it, and fails: the client
    gets the first, and the log nothing."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for status in (202, 500):
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        raise anyio.ClosedResourceError

    answers: list[Any] = []

    async def send(message: Any) -> None:
        answers.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b'{"method": "notifications/x"}', "more_body": False}

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"mcp-session-id", b"1")]}
    await Requests(app, HttpSettings(), lambda session: None)({**scope, PRINCIPAL: "alice"}, receive, send)
    assert [message.get("status") for message in answers] == [202, None]
