"""Answers that messengers bring, below /notify/: each is signed, recent, and taken once."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import anyio
from doorward import InvalidArguments, StateError, UnknownName
from doorward.engines import Conflict, Put
from doorward.serving import seldom
from doorward_auth_kit import Unsigned
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from doorward_notify.answers import Stranger, read
from doorward_notify.messages import title

if TYPE_CHECKING:
    from doorward.engines import Store
    from doorward_approvals import Requests
    from starlette.types import Receive, Scope, Send

    from doorward_notify.messengers import Messenger

ROOT = "/notify"

TABLE = "notify_answers"
"""The table with the answers that were taken, by messenger and id."""

_MAX_BODY_BYTES, _BODY_SECONDS = 16 * 2**10, 10.0
_ONCE = {
    "webhook": ("webhook-id", "webhook-timestamp", "webhook-signature"),
    "slack": ("x-slack-request-timestamp", "x-slack-signature"),
    "teams": ("authorization",),
}
_FORMS = {
    "webhook": 'the body is {"id", "answer": "approve" or "deny", "by", "said"?}',
    "slack": "it is none of the buttons",
    "teams": "say: approve ID, or: deny ID",
}


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
        self._saying: set[asyncio.Task[None]] = set()

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
        once = _ONCE[messenger.settings.kind]
        if request.method != "POST" or any(counted[name] != 1 for name in once):
            return 400, "an answer is a POST with each of these headers once: " + ", ".join(once)
        with anyio.move_on_after(_BODY_SECONDS):
            if (body := await _body(request)) is None:
                return 413, f"a body has {_MAX_BODY_BYTES} bytes at most"
            return await self._answered(messenger, request.headers, body)
        return 408, "it took too long"

    async def _answered(self, messenger: Messenger, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
        try:
            answer = read(messenger, headers, body, self._clock())
        except Unsigned as error:
            return 401, error.message
        except Stranger as error:
            return 403, str(error)
        except (ValueError, RecursionError):
            return 400, _FORMS[messenger.settings.kind]
        requests = self._requests()
        found = await requests.found(answer.id)
        if found is None or not messenger.fits(found.principal):
            return 404, "there is no such request (any more)"
        key = f"{messenger.name} {hashlib.sha256(answer.delivery.encode()).hexdigest()}"
        try:  # longer than its time is good: it cannot come again later
            await self._store.commit(Put(TABLE, key, b"", expected=0, ttl=3.0 * messenger.settings.tolerance))
        except Conflict:
            return 409, "this answer was taken already"
        told = "approved" if answer.approve else "denied"
        try:
            await requests.answer(found.id, answer.approve, by=f"{answer.by} ({messenger.name})", said=answer.said)
        except (InvalidArguments, UnknownName) as error:
            self._say(messenger, f"{answer.by} came too late: {error.message}")
            return 409, error.message
        self._say(messenger, f"{answer.by} has {told}: {title(found)}")
        return 200, told

    def _say(self, messenger: Messenger, text: str) -> None:
        """Tell those who read along: Slack and Teams show nothing of an answer by themselves."""
        if messenger.settings.kind != "webhook":
            task = asyncio.ensure_future(messenger.say(text))
            self._saying.add(task)
            task.add_done_callback(self._saying.discard)


async def _body(request: Request) -> bytes | None:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY_BYTES:
            return None
    return bytes(body)
