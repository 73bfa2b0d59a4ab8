"""The paths below /triggers/ of the HTTP endpoint."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from doorward import InvalidArguments, StateError, log
from doorward.serving import seldom
from doorward_auth_kit import Unsigned, verify
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from doorward_triggers.deliveries import params_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from doorward_triggers.queue import Queue
    from doorward_triggers.settings import TriggerSettings

ROOT = "/triggers"

MAX_BODY_BYTES = 256 * 2**10
"""Largest body of a delivery."""

BODY_SECONDS = 10.0
"""Seconds in which a body must arrive."""

_ONCE = ("content-type", "webhook-id", "webhook-timestamp", "webhook-signature")


@dataclass(frozen=True)
class Webhook:
    """A trigger that takes deliveries."""

    settings: TriggerSettings
    queue: Queue
    key: bytes
    fits: Any


class Site:
    """Takes deliveries, an ASGI application. `hooks` are the webhooks by their paths."""

    def __init__(self, hooks: Mapping[str, Webhook], clock: Callable[[], float] = time.time) -> None:
        self._hooks, self._clock = hooks, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        response.headers["Cache-Control"] = "no-store"
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        hook = self._hooks.get(request.scope["path"].removeprefix(f"{ROOT}/"))
        if hook is None:
            return _refusal(404, "there is no such webhook")
        if request.method != "POST":
            return JSONResponse({"error": "deliveries are sent by POST"}, 405, {"Allow": "POST"})
        status, why = await self._taken(hook, request)
        if status >= 400:
            seldom.warning("trigger_refused", trigger=hook.queue.name, status=status, why=why)
            return _refusal(status, why)
        return JSONResponse({"status": why}, status)

    async def _taken(self, hook: Webhook, request: Request) -> tuple[int, str]:
        counted = Counter(name.decode("latin-1").lower() for name, _ in request.scope["headers"])
        if any(counted[name] != 1 for name in _ONCE):
            return 400, "a delivery has each of these headers once: " + ", ".join(_ONCE)
        if request.headers["content-type"].partition(";")[0].strip().lower() != "application/json":
            return 415, "the body of a delivery is application/json"
        try:
            with anyio.fail_after(BODY_SECONDS):
                body = await _body(request)
        except TimeoutError:
            return 408, "the body did not arrive in time"
        if body is None:
            return 413, f"a body has {MAX_BODY_BYTES} bytes at most"
        try:
            id = verify(hook.key, request.headers, body, self._clock(), hook.settings.tolerance)
            params = params_of(body, hook.fits, hook.settings.body)
            answer = await hook.queue.add_delivery(id, params)
        except Unsigned as error:
            return 401, error.message
        except InvalidArguments as error:
            return 422, f"the body does not fit the schema: {error.message}"
        except (ValueError, RecursionError):
            return 400, "the body is no JSON object"
        except StateError as error:
            log.error("trigger_not_stored", trigger=hook.queue.name, why=error.message)
            return 503, "it could not be stored: send it again later"
        return {"accepted": 202, "duplicate": 200}.get(answer, 503), answer


async def _body(request: Request) -> bytes | None:
    """The body; `None` if it is too large, whatever length was announced."""
    if not (announced := request.headers.get("content-length", "0")).isdecimal() or int(announced) > MAX_BODY_BYTES:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _refusal(status: int, why: str) -> Response:
    headers = {"Retry-After": "30"} if status == 503 else {}
    return JSONResponse({"error": why}, status, headers)
