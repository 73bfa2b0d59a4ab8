"""The limits of requests: how many a principal may have under way, and how large they may be. A request ends when its
client goes away."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any
from weakref import WeakValueDictionary

import anyio
from doorward.serving import PRINCIPAL, person_of
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from doorward_mcp_server.http.sessions import SESSION_ID, HttpSessions, Refused, again, nowhere
from doorward_mcp_server.http.siblings import Siblings
from doorward_mcp_server.settings import HttpSettings
from doorward_mcp_server.suspended_calls import STORED_RUN

RUN_HEADER = b"doorward-run"

MAX_CALL_BYTES = 4 * 2**20
"""Largest call of a tool, and largest answer of a client to what it was asked."""

LARGE_BYTES = 64 * 2**10
"""Largest request of any other kind. Its content may be kept for as long as a stream is open, and takes twenty times as
much memory once it is parsed."""

MAX_OPENING_BYTES = 16 * 2**10
"""Largest request that opens a session: the session keeps its content."""

MAX_KEPT_BYTES = 4 * 2**10
"""Largest message of a session that may be kept until the next one comes."""

MAX_LARGE_REQUESTS = 16
"""Requests above `LARGE_BYTES` at one time. One principal may have half of them."""

WAIT_SECONDS = 20.0
"""Seconds for which a large request waits for a place."""

ANSWER_SECONDS = 5.0
"""Seconds within which requests are answered when the server ends."""


class Requests:
    """Passes requests within their limits on to the SDK's application. `forget` gets the id of
    each session that ends; `siblings` are the other processes that may have what is asked for, if there are any."""

    def __init__(
        self, app: ASGIApp, http: HttpSettings, forget: Callable[[str], None], siblings: Siblings | None = None
    ) -> None:
        self._app, self._path, self._most = app, http.path, http.requests
        self.sessions = HttpSessions(app, http.sessions, forget)
        self._siblings = siblings
        self.leaving = False
        """Whether clients are told to come by another connection."""
        self._under_way: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._large = asyncio.Semaphore(MAX_LARGE_REQUESTS)
        self._large_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._posts = 0
        self._answered = asyncio.Event()
        self._over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if PRINCIPAL not in scope:  # it is public
            await self._app(scope, receive, send)
            return
        if self._siblings is not None:
            send = self._parting(send)
        try:
            if self._over:
                raise Refused(503, "the server is shutting down. Try again in a moment.")
            async with AsyncExitStack() as places:
                who = person_of(scope[PRINCIPAL])
                _take(places, self._under_way, who, self._most)
                if scope["method"] == "GET" or Headers(scope=scope).get("mcp-method") == "subscriptions/listen":
                    # Streams stay open, so they get half of the places at most.
                    _take(places, self._streams, who, self._most // 2)
                if scope["method"] == "POST":
                    await self._post(scope, receive, send, places)
                else:
                    await self._other(scope, receive, send)
        except Refused as refused:
            await refused.answer()(scope, receive, send)

    async def end(self) -> None:
        """Wait until the requests under way, which have been told to end, are answered. Then end the sessions, and with
        them their open streams."""
        with anyio.move_on_after(ANSWER_SECONDS):
            while self._posts:
                self._answered.clear()
                await self._answered.wait()
        self._over = True
        await self.sessions.close()

    def _parting(self, send: Send) -> Send:
        """A `send` whose connection ends with the answer, if clients are to come by another one when that begins."""

        async def parting(message: Message) -> None:
            if self.leaving and message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        return parting

    def _posted(self) -> None:
        self._posts -= 1
        self._answered.set()

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        # No events are kept, so a stream that is opened again begins with the next one. With this header the SDK would
        # send nothing at all.
        scope = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"last-event-id"]}
        if self._siblings is not None:
            if await self._siblings.hand_on(scope, b"", receive, send):
                return
            scope, send = self._siblings.own(scope), self._siblings.naming(send)
        with self.sessions.used(scope):
            await self._app(scope, receive, self.sessions.ending(scope, send) if scope["method"] == "DELETE" else send)

    async def _post(self, scope: Scope, receive: Receive, send: Send, places: AsyncExitStack) -> None:
        headers = Headers(scope=scope)
        older = headers.get("mcp-protocol-version") in (None, *HANDSHAKE_PROTOCOL_VERSIONS)
        ours = scope["path"].removesuffix("\n") == self._path  # Starlette's routes match with such an end, too
        opening = ours and older and SESSION_ID not in headers
        calls = older or headers.get("mcp-method") in ("tools/call", "tasks/update")
        body = await self._body(
            scope, receive, MAX_OPENING_BYTES if opening else MAX_CALL_BYTES if calls else LARGE_BYTES, places
        )
        if body is None:
            return
        self._posts += 1
        places.callback(self._posted)
        if self._siblings is not None:
            if await self._siblings.hand_on(scope, body, receive, send):
                return
            scope, send = self._siblings.own(scope), self._siblings.naming(send)
        if opening:
            await self.sessions.open(scope, again(body, receive), send)
        elif older:
            await self._in_session(scope, body, receive, send)
        else:
            await self._app(scope, again(body, receive), _naming_run(scope, send))

    async def _body(self, scope: Scope, receive: Receive, most: int, places: AsyncExitStack) -> bytes | None:
        """The body of a request; `None` if its client is gone. Raises: Refused if it is too large."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return None
            before, more = len(body), message["more_body"]
            body += message["body"]
            if len(body) > most:
                raise _too_large(most)
            if before <= LARGE_BYTES < len(body):
                await self._take_large(person_of(scope[PRINCIPAL]), places)
        return bytes(body)

    async def _take_large(self, principal: str, places: AsyncExitStack) -> None:
        """Raises: Refused."""
        own = self._large_of.setdefault(principal, asyncio.Semaphore(MAX_LARGE_REQUESTS // 2))
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await places.enter_async_context(own)
                await places.enter_async_context(self._large)
        except TimeoutError:
            raise _busy("large ones") from None

    async def _in_session(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Serve a message of the older era. A request whose client is gone is cancelled: the SDK would let it go on,
        though nobody can fetch its answer."""
        message = _parsed(body)
        method, answered = message.get("method"), False
        if len(body) > LARGE_BYTES and method not in (None, "tools/call"):
            raise _too_large(LARGE_BYTES)

        async def sent(part: Message) -> None:
            nonlocal answered
            if answered:
                return
            answered = part["type"] == "http.response.body" and not part.get("more_body")
            await send(part)

        with self.sessions.used(scope, asked=method not in (None, "notifications/initialized")):
            try:
                await self._app({**scope}, again(body, receive), sent)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                if not answered:  # else the session has ended in the middle of a notification: its client leaves
                    raise
            if method and "id" in message and not answered:
                await self._notify(scope, receive, {"requestId": message["id"], "reason": "its client is gone"})
            elif len(body) > MAX_KEPT_BYTES:
                # The SDK keeps the last message: an empty notification takes its place.
                await self._notify(scope, receive, {})

    async def _notify(self, scope: Scope, receive: Receive, params: dict[str, Any]) -> None:
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await self._app({**scope}, again(json.dumps(cancelled).encode(), receive), nowhere)


def _naming_run(scope: Scope, send: Send) -> Send:
    """A `send` that tells the id of the run of a request, if that is stored by the time when the answer begins."""
    stored = scope[STORED_RUN] = list[str]()

    async def named(message: Message) -> None:
        if stored and message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (RUN_HEADER, stored[0].encode())]}
        await send(message)

    return named


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body of such a request may have {most:,} bytes")


def _parsed(body: bytes) -> dict[str, Any]:
    """The message, parsed as the SDK does it; empty if it is no object."""
    try:
        found = from_json(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _take(places: AsyncExitStack, counted: Counter[str], principal: str, most: int) -> None:
    """Take one of the places of a principal. Raises: Refused if none is left."""
    if counted[principal] >= most:
        raise _busy("of yours")
    counted[principal] += 1
    places.callback(_leave, counted, principal)


def _leave(counted: Counter[str], principal: str) -> None:
    counted[principal] -= 1
    if not counted[principal]:
        del counted[principal]


def _busy(which: str) -> Refused:
    return Refused(503, f"busy: too many requests, {which}, are under way. Try again when some of them are answered.")
