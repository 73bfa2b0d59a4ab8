"""Answers that messengers bring, below /notify/: each is signed, recent, and taken once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
from doorward import InvalidArguments, StateError, UnknownName
from doorward.engines import Conflict, Put
from doorward.serving import seldom
from doorward_auth_kit import Unsigned, verify
from doorward_json import read_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

if TYPE_CHECKING:
    from doorward.engines import Store
    from doorward_approvals import Requests
    from starlette.types import Receive, Scope, Send

    from doorward_notify.messengers import Messenger

ROOT = "/notify"

TABLE = "notify_answers"
"""The table with the answers that were taken, by messenger and id."""

_MAX_BODY_BYTES, _BODY_SECONDS = 16 * 2**10, 10.0
_ONCE = ("webhook-id", "webhook-timestamp", "webhook-signature")


class Site:
    """Takes answers, an ASGI application."""

    def __init__(
        self,
        messengers: Mapping[str, Messenger],
        requests: Callable[[], Requests],
        store: Store,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._messengers, self._requests, self._store, self._clock = messengers, requests, store, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            status, why = await self._taken(request)
        except ClientDisconnect:
            return
        except StateError:
            status, why = 503, "it could not be stored: send it again, with another webhook-id"
        if status >= 400:
            seldom.warning("answer_refused", path=request.scope["path"][:100], status=status, why=why)
        response: Response = JSONResponse({"error" if status >= 400 else "status": why}, status)
        response.headers["Cache-Control"] = "no-store"
        await response(scope, receive, send)

    async def _taken(self, request: Request) -> tuple[int, str]:
        messenger = self._messengers.get(request.scope["path"].removeprefix(f"{ROOT}/"))
        if messenger is None or not messenger.key:
            return 404, "nobody answers here"
        counted = Counter(name.decode("latin-1").lower() for name, _ in request.scope["headers"])
        if request.method != "POST" or any(counted[name] != 1 for name in _ONCE):
            return 400, "an answer is a POST with each of these headers once: " + ", ".join(_ONCE)
        with anyio.move_on_after(_BODY_SECONDS):
            if (body := await _body(request)) is None:
                return 413, f"a body has {_MAX_BODY_BYTES} bytes at most"
            return await self._answered(messenger, request.headers, body)
        return 408, "it took too long"

    async def _answered(self, messenger: Messenger, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
        tolerance = messenger.settings.tolerance
        try:
            delivery = verify(messenger.key, headers, body, self._clock(), tolerance)
            said = _read(body)
        except Unsigned as error:
            return 401, error.message
        except (ValueError, RecursionError):
            return 400, 'the body is {"id", "answer": "approve" or "deny", "by", "said"?}'
        requests = self._requests()
        found = await requests.found(said["id"])
        if found is None or not messenger.fits(found.principal):
            return 404, "there is no such request (any more)"
        key = f"{messenger.name} {delivery}"
        try:  # longer than its time is good: it cannot come again later
            await self._store.commit(Put(TABLE, key, b"", expected=0, ttl=3.0 * tolerance))
        except Conflict:
            return 409, "this answer was taken already"
        try:
            by = f"{said['by']} ({messenger.name})"
            await requests.answer(found.id, said["answer"] == "approve", by=by, said=said.get("said", ""))
        except (InvalidArguments, UnknownName) as error:
            return 409, error.message
        return 200, "approved" if said["answer"] == "approve" else "denied"


def _read(body: bytes) -> dict[str, Any]:
    """Raises: ValueError for what is no answer."""
    said = read_json(body.decode())
    texts = ("id", "answer", "by") + (("said",) if isinstance(said, dict) and "said" in said else ())
    if not isinstance(said, dict) or any(not isinstance(said.get(name), str) for name in texts):
        raise ValueError("it is no answer")
    if said["answer"] not in ("approve", "deny") or not said["by"].strip() or said.keys() - {*texts}:
        raise ValueError("it is no answer")
    return said


async def _body(request: Request) -> bytes | None:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY_BYTES:
            return None
    return bytes(body)
