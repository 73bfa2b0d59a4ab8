"""The HTTP client of one server: pooled, bounded in size and time, and faithful to where the operator sends it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import httpx2
from doorward import GuardedTransport, ServerError, Template

from doorward_openapi.calls import failures, redirects, retries
from doorward_openapi.calls.answers import Answer
from doorward_openapi.calls.destinations import Destinations
from doorward_openapi.calls.redirects import Hop
from doorward_openapi.document.servers import among, origin, same_origin, shown
from doorward_openapi.wire import media_types, streams

if TYPE_CHECKING:
    from doorward_openapi.calls.request import Request

MAX_RESPONSE_BYTES = 50 * 2**20
"""Size of one answer after decompression."""


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
        # Answers set no cookies: what one caller's request brought must not go along with another's.
        jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        agent = {"User-Agent": "doorward-openapi/0.1.0"}
        transport = GuardedTransport(self._destinations, reach.by_socket, http2=True)
        self._client = httpx2.AsyncClient(follow_redirects=False, cookies=jar, headers=agent, transport=transport)

    def _credentials(self) -> httpx2.Auth | None:
        if self._auth is None:
            self._auth = self._make_auth()
        return self._auth

    async def send(
        self, what: str, request: Request, timeout: float, *, left: float = math.inf, idempotent: bool = False
    ) -> Answer:
        """Send a request with credentials and configured headers; each attempt takes at most `timeout` seconds. It is
        repeated where that helps and does no harm, within `left` seconds altogether. If the server has none of the
        media types that the document names (406), any other will do.

        Raises: ServerError.
        """
        until = time.monotonic() + left
        configured = await self._configured(request.headers)
        hop = Hop(request.method, request.url, {**request.headers, **configured}, request.content)
        answer = await self._send(
            what, hop, timeout, self._credentials(), MAX_RESPONSE_BYTES, left=left, idempotent=idempotent
        )
        if (
            answer.status == 406
            and idempotent
            and "Accept" not in configured
            and b"*/*" not in request.headers.get("Accept", b"")
        ):
            hop, left = replace(hop, headers={**hop.headers, "Accept": b"*/*"}), until - time.monotonic()
            answer = await self._send(
                what, hop, timeout, self._credentials(), MAX_RESPONSE_BYTES, left=left, idempotent=True
            )
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
    ) -> Answer:
        """One exchange, repeated where `retries` says so and the time allows."""
        until = time.monotonic() + left
        for attempt in range(self._reach.retries + 1):
            room = max(0.0, min(timeout, until - time.monotonic()))
            last = attempt == self._reach.retries
            with failures.explained(self._server, what, hop.url, room, self._reach.by_socket(hop.url)):
                try:
                    answer = await self._exchange(what, hop, room, auth, max_bytes)
                except httpx2.TransportError as error:
                    pause = retries.after_error(error, attempt, idempotent=idempotent)
                    if last or pause is None or pause >= until - time.monotonic():
                        raise
                else:
                    pause = retries.after_answer(answer.status, answer.retry_after, attempt, idempotent=idempotent)
                    if last or pause is None or pause >= until - time.monotonic():
                        return answer
            await anyio.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    async def _exchange(self, what: str, hop: Hop, timeout: float, auth: httpx2.Auth | None, max_bytes: int) -> Answer:
        """A request and the redirects that its answer leads to."""
        first = hop
        with anyio.fail_after(timeout):
            for _ in range(redirects.MAX_REDIRECTS + 1):
                await self._checked(what, hop)
                headers = [(name.encode(), value) for name, value in hop.headers.items()]
                request = self._client.build_request(
                    hop.method, hop.url, headers=headers, content=hop.content, timeout=timeout
                )
                try:
                    response = await self._client.send(request, auth=auth if hop.home else None, stream=True)
                except httpx2.TransportError:
                    if hop is first:
                        raise
                    with failures.explained(
                        self._server, f"{what}, redirected", hop.url, timeout, self._reach.by_socket(hop.url)
                    ):
                        raise
                try:
                    further = redirects.following(
                        what, hop, response.status_code, response.headers.get("location"), self._reach.belongs
                    )
                    if further is None:
                        return replace(await _read(what, response, max_bytes), url=hop.url)
                    hop = further
                finally:
                    await response.aclose()
        raise ServerError(f"{what} redirected more than {redirects.MAX_REDIRECTS} times")

    async def _checked(self, what: str, hop: Hop) -> None:
        """A redirect may not lead to an address that only the operator may name, not even to one
        that the operator did name."""
        if hop.home:
            return
        try:
            await self._destinations.require_public(*origin(hop.url)[1:])
        except ServerError as error:
            raise ServerError(
                f"{what} redirects to {shown(hop.url)}, which is not followed: {error}", hint=error.hint
            ) from None

    async def close(self) -> None:
        await self._client.aclose()


async def _read(what: str, response: httpx2.Response, max_bytes: int) -> Answer:
    """Read the answer to its end, or until a stream's time or room runs out."""
    headers = response.headers
    media = headers.get("content-type", "")
    time_left = anyio.current_effective_deadline() - anyio.current_time()
    patience = streams.patience(media, headers.get("content-length"), time_left)
    parts: list[bytes] = []
    size, cut = 0, ""
    with anyio.move_on_after(patience) as scope:
        async for part in response.aiter_bytes():
            size += len(part)
            parts.append(part)
            await anyio.lowlevel.checkpoint()  # decompression yields hundreds of pieces without a pause
            if size > max_bytes:
                parts[-1] = part[: max_bytes - size]
                cut = f"answered with more than {max_bytes // 2**20} MiB"
                break
    if scope.cancelled_caught:
        cut = f"it did not end within {patience:.3g} seconds"
    elif cut and not media_types.stream(media):
        raise ServerError(f"{what} {cut}", hint="Ask for less: pages, filters, fields.")
    coding = headers.get("content-encoding", "").rpartition(",")[2].strip().lower()
    decoded = response.request.headers.get("accept-encoding", "")
    return Answer(
        response.status_code,
        response.reason_phrase,
        media
        if coding in ("", "identity") or coding in decoded
        else f"application/{coding}",  # a content coding that cannot be decoded makes it a file
        response.charset_encoding,
        b"".join(parts),
        cut,
        headers,
    )
