"""Requests for sessions on other machines: who is asked, what is sent to it, and what is believed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import structlog
from doorward import ConfigError
from doorward.engines import MemoryStore, Put
from doorward_mcp_server.http.from_peers import FromPeers
from doorward_mcp_server.http.peers import PROOF_HEADER, SENT_HEADER, TABLE, Peers, check_peer
from doorward_mcp_server.http.sessions import Refused
from doorward_mcp_server.http.siblings import FROM_PEER, Siblings, relayed

pytestmark = pytest.mark.anyio

KEY = bytes(32)
URL = "https://10.0.0.3:8765/mcp"
BODY = b'{"params": {"arguments": {"session_id": "bbbbbbbb-of-a-sandbox"}}}'


class Database(MemoryStore):
    """A store that counts what is asked of it."""

    distributed = True
    asked = 0

    async def get(self, table: str, key: str) -> Any:
        self.asked += 1
        return await super().get(table, key)


class Process:
    """One of a machine's own, whose id is known."""

    folder: Any = None

    def __init__(self, id: str) -> None:
        self.id = id

    def knows(self, named: str) -> bool:
        return False


def peers(store: Any, id: str, key: bytes = KEY) -> Peers:
    return Peers(store, key, Process(id), URL)  # type: ignore[arg-type]


def request(session: str = "", method: str = "POST") -> dict[str, Any]:
    headers = [(b"authorization", b"Bearer of-the-client"), (b"connection", b"close")]
    headers += [(b"mcp-session-id", session.encode())] if session else []
    return {"type": "http", "method": method, "raw_path": b"/mcp", "query_string": b"", "headers": headers}


async def answered(app: FromPeers, sealed: str, body: bytes = b"") -> tuple[int, dict[bytes, bytes]]:
    """The status and the headers of its answer to what was sealed."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b""}
    await app({**scope, "headers": [(SENT_HEADER.encode(), sealed.encode())]}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"])


async def test_what_is_looked_up() -> None:
    """Nothing for what needs no session, or one of ours, or what no process can have named. Only what a gateway of ours
    has stored for itself, and not long ago, is believed."""
    store = Database(None)
    one, other = peers(store, "aaaaaaaa"), peers(store, "bbbbbbbb")
    siblings = Siblings(one.process, one)

    async def nobody(*given: Any) -> Any:
        raise AssertionError("nothing is sent anywhere")

    for scope, body in (
        (request(), b'{"params": {}}'),
        (request(), BODY.replace(b"bbbbbbbb", b"aaaaaaaa")),
        (request(), b'{"params": {"arguments": {"session_id": "new"}}}'),
        (request("aaaaaaaa-of-a-client"), BODY),
        ({**request(), FROM_PEER: True}, BODY),
    ):
        assert not await siblings.hand_on(scope, body, nobody, nobody)
    for session in ("no-process-has-this", "bbbbbbbb-gone"):
        with pytest.raises(Refused, match="begin a new one"):
            await siblings.hand_on(request(session), b"", nobody, nobody)
    assert store.asked == 1
    async with other.announced():
        assert (await one.find("bbbbbbbb-there")).url == URL  # type: ignore[union-attr]
        sealed = (await store.get(TABLE, "bbbbbbbb")).value
        await store.commit(Put(TABLE, "cccccccc", sealed), Put(TABLE, "dddddddd", b'{"url": "http://10.0.0.9"}'))
        assert [await one.find(f"{id * 8}-x") for id in "cd"] == [None, None]
        assert await peers(store, "eeeeeeee", b"1" * 32).find("bbbbbbbb-there") is None
    assert await one.find("bbbbbbbb-there") is None


async def test_what_is_taken() -> None:
    """What a gateway has sealed, for this process, once, with this body: all else does not reach the application, whose
    answer is proven."""
    store = Database(None)
    one, other = peers(store, "aaaaaaaa"), peers(store, "bbbbbbbb")
    reached: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append((scope, await receive()))
        await send({"type": "http.response.start", "status": 202, "headers": [(b"doorward-proof", b"forged")]})

    there = FromPeers(app, other, Siblings(other.process, other))
    sealed = one.sealed("bbbbbbbb", "once", request("bbbbbbbb-x", "DELETE"), BODY)
    assert (await answered(there, sealed, BODY + b" "))[0] == 403
    status, headers = await answered(there, sealed, BODY)
    assert (status, headers[PROOF_HEADER.encode()]) == (202, one.proof("once", 202))
    ((scope, received),) = reached
    assert (scope["method"], scope["path"], scope[FROM_PEER], received["body"]) == ("DELETE", "/mcp", True, BODY)
    assert scope["headers"] == [(b"authorization", b"Bearer of-the-client"), (b"mcp-session-id", b"bbbbbbbb-x")]
    assert "of-the-client" not in sealed
    strange = peers(store, "aaaaaaaa", b"1" * 32).sealed("bbbbbbbb", "strange", request(), BODY)
    later = one.sealed("cccccccc", "to another", request(), BODY)
    refused = [(await answered(there, each, BODY))[0] for each in (sealed, strange, later, sealed[:-4], "é")]
    assert refused == [403, 403, 404, 403, 403]
    assert len(reached) == 1


@pytest.mark.parametrize(
    ("url", "distributed", "key", "told"),
    [
        (URL, False, True, "a store that they share"),
        (URL, True, False, "by a `vault_key`"),
        ("https://10.0.0.3", True, True, "names no path"),
    ],
)
def test_where_none_can_be_found(url: str, *, distributed: bool, key: bool, told: str) -> None:
    """It is said at the start."""
    with pytest.raises(ConfigError, match=told):
        check_peer(url, distributed=distributed, sealed=key)


async def test_what_breaks_off() -> None:
    """An answer in the middle of which its process dies breaks off for the client, too: it is not ended as if it were whole,
    and nothing is logged as a defect of ours."""
    sent: list[Any] = []

    class Dying(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"data: half of"
            raise httpx2.RemoteProtocolError("peer closed connection")

    @contextlib.asynccontextmanager
    async def exchange() -> AsyncIterator[httpx2.Response]:
        yield httpx2.Response(200, stream=Dying())

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    with structlog.testing.capture_logs() as logged:
        await relayed(exchange(), receive, send)
    assert [message.get("more_body") for message in sent] == [None, True]
    assert [each["event"] for each in logged] == ["session_broke_off"]
