"""Workers of one `serve`: a request for what another one holds, a session of an older protocol version or of a sandbox,
is handed on to it, whole, and its answer handed back. What a gateway on another machine holds goes to that: `peers`.

Each worker listens at a socket of its own besides, in a folder of this user alone, and lets in there whom it lets in
elsewhere: who hands a request on is not trusted to have looked at it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import httpx2
from doorward import log
from doorward.serving import Process
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from doorward_mcp_server.http.sessions import OF_ONE_CONNECTION, SESSION_ID, Refused
from doorward_mcp_server.other_processes import socket_path

if TYPE_CHECKING:
    from doorward_mcp_server.http.peers import Peers

FROM_PEER = "doorward.from_peer"
"""In the scope of a request that a gateway on another machine has sent."""

GONE = "the process that had this session is gone, and the session with it: begin a new one (initialize)"


class Siblings:
    """The other workers, each named by the id of its process; ids of sessions begin with it. `peers` are the gateways
    on other machines, if they can be found."""

    def __init__(self, process: Process, peers: Peers | None = None) -> None:
        self._process, self.peers = process, peers

    @contextlib.contextmanager
    def listening(self) -> Iterator[socket.socket]:
        """The socket at which the others reach this one."""
        at = self._process.folder / f"{self._process.id}.http"
        with socket.socket(socket.AF_UNIX) as listener:
            with socket_path(self._process.folder, at.name) as path:
                listener.bind(path)
            listener.listen(1024)
            listener.setblocking(False)
            try:
                yield listener
            finally:
                at.unlink(missing_ok=True)

    def own(self, scope: Scope) -> Scope:
        """A request as the application knows it: the id of its session without that of this process."""
        id = self._process.id.encode()
        headers = [
            (name, value.removeprefix(id) if name == SESSION_ID.encode() else value) for name, value in scope["headers"]
        ]
        return {**scope, "headers": headers}

    def naming(self, send: Send) -> Send:
        """A `send` that puts the id of this process before that of a session."""

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                id = self._process.id.encode()
                headers = [
                    (name, id + value if name == SESSION_ID.encode() else value) for name, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        return named

    def knows(self, named: str) -> bool:
        """Whether another worker that lives has named something."""
        return self._process.knows(named)

    async def hand_on(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> bool:
        """Have another process answer a request, if that has what the request is for. Nothing is looked up for one of
        this process, or of nobody.

        Returns: whether it was another's.
        Raises: Refused for a session of the protocol whose process is gone.
        """
        session = Headers(scope=scope).get(SESSION_ID, "")
        named = session or _sandbox(body)
        if not named or named.startswith(self._process.id):
            return False
        sent_on = FROM_PEER in scope
        if not sent_on and self._process.knows(named):
            await self.forward(named[:8], scope, body, receive, send)
            return True
        if not sent_on and self.peers is not None and (found := await self.peers.find(named)) is not None:
            await relayed(self.peers.exchange(found, scope, body), receive, send)
            return True
        if session:
            raise Refused(404, GONE)
        return False

    async def forward(self, owner: str, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Have another worker answer a request; if its client goes, the work over there ends. Raises: Refused if the
        worker is gone."""
        await relayed(self._exchange(owner, scope, body), receive, send)

    @contextlib.asynccontextmanager
    async def _exchange(self, owner: str, scope: Scope, body: bytes) -> AsyncIterator[httpx2.Response]:
        query = scope["query_string"].decode("latin-1")
        url = f"http://worker{scope['raw_path'].decode('latin-1')}" + (f"?{query}" if query else "")
        headers = [(name, value) for name, value in scope["headers"] if name not in OF_ONE_CONNECTION]
        with socket_path(self._process.folder, f"{owner}.http") as path:
            transport = httpx2.AsyncHTTPTransport(uds=path)
            async with (
                httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False) as client,
                client.stream(scope["method"], url, headers=headers, content=body) as answer,
            ):
                yield answer


async def relayed(exchange: AbstractAsyncContextManager[httpx2.Response], receive: Receive, send: Send) -> None:
    """Hand back the answer of another process; if the client goes, the work over there ends. Raises: Refused if the
    process is gone."""
    work = asyncio.ensure_future(_relay(exchange, send))
    left = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait([work, left], return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
    finally:
        for task in (work, left):
            task.cancel()
        await asyncio.wait([work, left])


async def _relay(exchange: AbstractAsyncContextManager[httpx2.Response], send: Send) -> None:
    begun = False
    try:
        async with exchange as answer:
            begun = True
            await send(_start(answer))
            async for part in answer.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except (OSError, httpx2.TransportError) as error:
        if begun:  # it is left as it is: whoever ends it would say that it is whole
            log.warning("session_broke_off", why=f"the process that had it died: {error}")
            return
        if isinstance(error, (OSError, httpx2.ConnectError, httpx2.ConnectTimeout)):
            raise Refused(404, GONE) from error
        why = "the process that had this session died while it answered: whether it had called anything is not known"
        raise Refused(502, why) from error


def _sandbox(body: bytes) -> str:
    """The id of the sandbox that a call names; "" if it names none."""
    if b'"session_id"' not in body:
        return ""
    with contextlib.suppress(ValueError, LookupError, TypeError):
        named = from_json(body)["params"]["arguments"]["session_id"]
        return named if isinstance(named, str) else ""
    return ""


def _start(answer: httpx2.Response) -> Message:
    headers = [(name.lower(), value) for name, value in answer.headers.raw]
    kept = [(name, value) for name, value in headers if name not in OF_ONE_CONNECTION - {b"content-length"}]
    return {"type": "http.response.start", "status": answer.status_code, "headers": kept}


async def _left(receive: Receive) -> Any:
    while (await receive())["type"] != "http.disconnect":
        pass
