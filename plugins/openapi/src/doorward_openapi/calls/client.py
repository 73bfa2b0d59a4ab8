"""The HTTP client of one server: pooled, bounded in size and time, and faithful to where the operator sends it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
import httpx2
from doorward import Refused, ServerError, Template
from doorward_http import GuardedTransport, HttpAnswer, UpstreamLimits, unpacked

from doorward_openapi.calls import exchanges, failures, redirects, retries
from doorward_openapi.calls.answers import Answer
from doorward_openapi.calls.destinations import Destinations
from doorward_openapi.calls.redirects import Hop
from doorward_openapi.document.servers import among, origin, same_host, same_origin, shown
from doorward_openapi.wire import media_types, streams

if TYPE_CHECKING:
    from doorward_openapi.calls.further import Further
    from doorward_openapi.calls.request import Request

MAX_RESPONSE_BYTES = 50 * 2**20
"""Size of one answer after decompression."""


class NotFollowed(ServerError):
    """A redirect leads to an address that only the operator may name."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What the operator configured of a server's network.

    `api` is the API's URL, `origins` are other origins that belong to it, `documents` the URLs of its document and
    overlays; all of these may have any address. `socket` is the Unix socket that carries requests to `api`; `retries`
    is how often a request may be repeated.
    """

    api: str | None = None
    origins: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    socket: str | None = None
    retries: int = 2

    def known(self) -> list[str]:
        return [url for url in (self.api, *self.origins, *self.documents) if url]

    def belongs(self, url: str) -> bool:
        """Whether credentials may be sent to this URL."""
        return among(url, (self.api, *self.origins))

    def by_socket(self, url: str) -> str | None:
        return self.socket if self.socket and self.api and same_origin(url, self.api) else None


class Client:
    """Sends requests for one server. The connections are opened by the first one."""

    def __init__(
        self, server: str, auth: Callable[[], httpx2.Auth | None], headers: Mapping[str, Template], reach: Reach
    ) -> None:
        self._server = server
        self._make_auth = auth
        self._headers = headers
        self._reach = reach
        self._auth: httpx2.Auth | None = None
        self._destinations = Destinations(server, reach.known())
        self._limits = UpstreamLimits(server)
        self._transport = GuardedTransport(self._destinations, reach.by_socket, http2=True)

    def _credentials(self) -> httpx2.Auth | None:
        if self._auth is None:
            self._auth = self._make_auth()
        return self._auth

    async def send(
        self,
        what: str,
        request: Request,
        timeout: float,
        *,
        left: float = math.inf,
        idempotent: bool = False,
        further: Further | None = None,
    ) -> Answer:
        """Send a request with credentials and configured headers; each attempt takes at most `timeout` seconds. It is
        repeated where that helps and does no harm, within `left` seconds altogether; its call waits for its turn, where
        the server limits requests. `further` decides what may be sent after it. If the server has none of the media
        types that the document names (406), any other will do.

        Raises: ServerError, RateLimited, Refused.
        """
        until = time.monotonic() + left
        configured = await self._configured(request.headers)
        hop = Hop(request.method, request.url, {**request.headers, **configured}, request.content)
        send = partial(self._send, what, timeout=timeout, auth=self._credentials(), max_bytes=MAX_RESPONSE_BYTES)
        answer = await send(hop, left=left, idempotent=idempotent, further=further)
        if (
            answer.status == 406
            and idempotent
            and "Accept" not in configured
            and b"*/*" not in request.headers.get("Accept", b"")
        ):
            hop, left = replace(hop, headers={**hop.headers, "Accept": b"*/*"}), until - time.monotonic()
            answer = await send(hop, left=left, idempotent=True, further=further)
        return answer

    async def _configured(self, given: Mapping[str, bytes]) -> dict[str, bytes]:
        """The configured headers, which replace others of the same name."""
        names = {name.lower(): name for name in given}
        return {
            names.get(name.lower(), name): (await value.get()).strip().encode() for name, value in self._headers.items()
        }

    async def get(
        self, what: str, url: str, headers: Mapping[str, bytes], timeout: float, max_bytes: int, *, credentials: bool
    ) -> Answer:
        """One GET of a document of at most `max_bytes` bytes, with or without credentials and configured headers.

        Raises: ServerError.
        """
        hop = Hop("GET", url, {**headers, **(await self._configured(headers) if credentials else {})})
        auth = self._credentials() if credentials else None
        answer = await self._send(what, hop, timeout, auth, max_bytes, left=timeout, idempotent=True)
        if answer.cut:
            raise ServerError(f"{what} cannot be had: {answer.cut}")
        return answer

    async def _send(
        self,
        what: str,
        hop: Hop,
        timeout: float,
        auth: httpx2.Auth | None,
        max_bytes: int,
        *,
        left: float,
        idempotent: bool,
        further: Further | None = None,
    ) -> Answer:
        """One exchange, repeated where `retries` says so and the time allows."""
        until, call = time.monotonic() + left, further.call if further else None
        changes = not idempotent and hop.method not in ("GET", "HEAD")
        for attempt in range(self._reach.retries + 1):
            last = attempt == self._reach.retries
            async with self._limits.turn(hop.method, hop.url, call) as turn:
                room = max(0.0, min(timeout, until - time.monotonic()))
                socket = self._reach.by_socket(hop.url)
                with failures.explained(self._server, what, hop.url, room, socket, changes=changes):
                    try:
                        answer = await self._exchange(what, hop, room, auth, max_bytes, further, attempt > 0)
                    except httpx2.TransportError as error:
                        pause = retries.after_error(error, attempt, idempotent=idempotent)
                        if last or pause is None or pause >= until - time.monotonic():
                            raise
                    else:
                        turn.answered(answer.status, answer.headers)
                        pause = retries.after_answer(answer.status, answer.retry_after, attempt, idempotent=idempotent)
                        if last or pause is None or pause >= until - time.monotonic():
                            return answer
            if call is not None:
                call.details["retries"] = attempt + 1
                call.details["retry_ms"] = round(float(call.details.get("retry_ms", 0)) + pause * 1000, 1)
            await anyio.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    async def _exchange(
        self,
        what: str,
        hop: Hop,
        timeout: float,
        auth: httpx2.Auth | None,
        max_bytes: int,
        further: Further | None,
        again: bool,
    ) -> Answer:
        """A request, perhaps made `again`, and the redirects that its answer leads to."""
        first, until = hop, time.monotonic() + timeout
        async with asyncio.timeout(timeout):  # a third of the price of anyio's
            for _ in range(redirects.MAX_REDIRECTS + 1):
                if further and (again or hop is not first):
                    await self._check_further(what, hop, first, further)
                if not hop.home:
                    await self._check_elsewhere(what, hop)
                try:
                    answer = await self._answer(hop, auth if hop.home else None)
                except httpx2.TransportError:
                    if hop is first:
                        raise
                    with failures.explained(
                        self._server, f"{what}, redirected", hop.url, timeout, self._reach.by_socket(hop.url)
                    ):
                        raise
                try:
                    headers = exchanges.by_name(answer.headers)
                    following = redirects.following(
                        what, hop, answer.status, headers.get("location"), self._reach.belongs
                    )
                    if following is None:
                        return await _read(what, answer, headers, hop.url, until, max_bytes)
                    hop = following
                finally:
                    await answer.aclose()
        raise ServerError(f"{what} redirected more than {redirects.MAX_REDIRECTS} times")

    async def _answer(self, hop: Hop, auth: httpx2.Auth | None) -> HttpAnswer:
        """One exchange. The answer gives its content without content codings that were asked for."""
        headers = exchanges.with_usual(hop.headers)
        if auth is None:
            return unpacked(await self._transport.engine.send(hop.method, hop.url, headers, hop.content or b""))
        request = httpx2.Request(hop.method, hop.url, headers=headers, content=hop.content)
        return await exchanges.authenticated(self._transport, auth, request)

    async def _check_further(self, what: str, hop: Hop, first: Hop, further: Further) -> None:
        """Whatever is sent to the API after the first request is asked for anew, also if it comes by way of another
        place. Raises: Refused."""
        if not (hop.home or self._reach.belongs(hop.url) or same_host(hop.url, first.url)):
            return
        if why := await further.refusal(hop.method, hop.url):
            to = "" if hop is first else f"{what} redirects to {shown(hop.url)[:200]}, which is not followed: "
            raise Refused(f"{to}{why}")

    async def _check_elsewhere(self, what: str, hop: Hop) -> None:
        """A redirect may not lead to an address that only the operator may name, not even to one
        that the operator did name."""
        try:
            await self._destinations.require_public(*origin(hop.url)[1:])
        except ServerError as error:
            raise NotFollowed(
                f"{what} redirects to {shown(hop.url)}, which is not followed: {error}", hint=error.hint
            ) from None

    async def close(self) -> None:
        await self._transport.aclose()


async def _read(
    what: str, answer: HttpAnswer, headers: Mapping[str, str], url: str, until: float, max_bytes: int
) -> Answer:
    """Read the answer to its end, or until a stream's time or room runs out."""
    media = headers.get("content-type", "")
    share = streams.patience(media, headers.get("content-length"))
    parts: list[bytes] = []
    patience = None if share is None else share * (until - time.monotonic())
    cut, limit = "", nullcontext() if patience is None else asyncio.timeout(patience)
    try:
        async with limit:
            if not await _collected(answer, parts, max_bytes):
                cut = f"answered with more than {max_bytes // 2**20} MiB"
    except TimeoutError:
        if not (isinstance(limit, asyncio.Timeout) and limit.expired()):
            raise
        cut = f"it did not end within {patience:.3g} seconds"
    else:
        if cut and not media_types.stream(media):
            raise ServerError(f"{what} {cut}", hint="Ask for less: pages, filters, fields.")
    left_packed = exchanges.left_packed(headers)
    return Answer(
        answer.status,
        answer.reason.decode("ascii", "ignore"),
        f"application/{left_packed}" if left_packed else media,
        exchanges.charset(media),
        b"".join(parts),
        cut,
        headers,
        url,
    )


async def _collected(answer: HttpAnswer, parts: list[bytes], max_bytes: int) -> bool:
    """Add the content to `parts`. Returns: whether all of it has room."""
    size = 0
    while part := await answer.read():
        size += len(part)
        parts.append(part)
        if size > max_bytes:
            parts[-1] = part[: max_bytes - size]
            return False
    return True
