"""Sessions, which protocol versions before 2026-07-28 have: how many there may be, and how long they last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import mcp_types as t
from doorward.serving import PRINCIPAL, person_of
from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SESSION_ID = "mcp-session-id"

OF_ONE_CONNECTION = {b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"date"}
"""Headers that belong to one connection: those of a request or answer that is handed on are others."""

UNUSED_SECONDS = 60.0
"""Seconds after which a session ends that has had no request since it was opened."""

POLL_SECONDS = 5.0
"""Seconds between two looks for sessions that are over."""

TOTAL_FACTOR = 8
"""All principals together may have this many times the sessions that one may have."""


class Refused(Exception):
    """A request that is refused: why, and the status of the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status

    def answer(self) -> Response:
        error = t.JSONRPCError(jsonrpc="2.0", id=None, error=t.ErrorData(code=t.INVALID_REQUEST, message=str(self)))
        headers = {"Retry-After": "5"} if self.status == 503 else None
        return Response(
            error.model_dump_json(by_alias=True, exclude_unset=True), self.status, headers, "application/json"
        )


@dataclass(eq=False)
class _Session:
    scope: Scope
    id: str = ""
    under_way: int = 0
    asked: bool = False
    used: float = field(default_factory=time.monotonic)

    @property
    def principal(self) -> str:
        return str(self.scope[PRINCIPAL])

    def over(self) -> bool:
        return not self.under_way and time.monotonic() - self.used > (
            DEFAULT_SESSION_IDLE_TIMEOUT if self.asked else UNUSED_SECONDS
        )


class HttpSessions:
    """The sessions of the application, at most `most` per principal. Where there is no room, the one that was idle for
    longest ends, beginning with those that never had a request. `forget` gets the id of each session that ends."""

    def __init__(self, app: ASGIApp, most: int, forget: Callable[[str], None]) -> None:
        self._app, self._most, self._forget = app, most, forget
        self._all: set[_Session] = set()
        self._by_id: dict[str, _Session] = {}

    async def open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that opens a session. Raises: Refused if there is no room for it."""
        await self._make_room(scope[PRINCIPAL])
        session = _Session({**scope})
        self._all.add(session)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                session.id = Headers(raw=message["headers"]).get(SESSION_ID, "")
                if session.id:  # a redirect has none
                    self._by_id[session.id] = session
            await send(message)

        session.under_way = 1
        try:
            await self._app(scope, receive, noted)
        finally:
            session.under_way, session.used = 0, time.monotonic()
            if not session.id:
                self._all.discard(session)

    def ending(self, scope: Scope, send: Send) -> Send:
        """A `send` for a DELETE: a session that its client has ended is forgotten, and takes nobody's room."""
        session = self._of(scope)

        async def noted(message: Message) -> None:
            if session and message["type"] == "http.response.start" and message["status"] < 300:
                self._drop(session)
            await send(message)

        return noted

    @contextmanager
    def used(self, scope: Scope, *, asked: bool = False) -> Iterator[None]:
        """A block in which a request of this session is under way; `asked` unless it only opens it."""
        session = self._of(scope)
        if session is None:
            other = self._by_id.get(Headers(scope=scope).get(SESSION_ID, ""))
            if other and person_of(other.principal) == person_of(scope[PRINCIPAL]):  # the SDK refuses other persons
                raise Refused(404, "there is no such session at this endpoint")
            yield
            return
        session.asked = session.asked or asked
        session.under_way += 1
        try:
            yield
        finally:
            session.under_way -= 1
            session.used = time.monotonic()

    async def watch(self) -> None:
        """End sessions when they are over, until cancelled."""
        while True:
            await anyio.sleep(POLL_SECONDS)
            for session in [session for session in self._all if session.over()]:
                await self._end(session)

    async def close(self) -> None:
        """End all sessions."""
        for session in list(self._all):
            await self._end(session)

    def _of(self, scope: Scope) -> _Session | None:
        """The session that a request names, if it is its principal's."""
        session = self._by_id.get(Headers(scope=scope).get(SESSION_ID, ""))
        return session if session and session.principal == scope[PRINCIPAL] else None

    async def _make_room(self, principal: str) -> None:
        crowd = [session for session in self._all if session.principal == principal]
        if len(crowd) < self._most:
            if len(self._all) < self._most * TOTAL_FACTOR:
                return
            crowd = list(self._all)
        if not (unused := [session for session in crowd if not session.under_way]):
            raise Refused(503, "busy: too many sessions are in use. Try again when some have ended.")
        await self._end(min(unused, key=lambda session: (session.asked, session.used)))

    async def _end(self, session: _Session) -> None:
        """End a session as its client would: by a DELETE."""
        if self._drop(session):
            await self._app(
                {**session.scope, "method": "DELETE", "headers": [(SESSION_ID.encode(), session.id.encode())]},
                _nothing,
                nowhere,
            )

    def _drop(self, session: _Session) -> bool:
        """Returns: whether it was still there."""
        self._all.discard(session)
        if not self._by_id.pop(session.id, None):
            return False
        self._forget(session.id)
        return True


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def nowhere(message: Message) -> None:
    pass


def again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, and then whatever follows."""
    given = False

    async def received() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return received
