"""The HTTP client of one server: bounded in size and time, to the places that the operator named and to no other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import httpx2
from doorward import Call, ServerError, Template
from doorward_http import GuardedTransport, NamedHosts, UpstreamLimits, retry_after

MAX_RESPONSE_BYTES = 50 * 2**20
"""Size of one answer after decompression."""
MAX_RETRY_AFTER_SECONDS = 120.0
"""The longest wait that a server may ask for; if it asks for more, the program is told at once."""
_FIRST_PAUSE_SECONDS = 0.25
"""The longest first pause; each further one may be twice as long."""
_MAY_BE_MADE = "It may have been made all the same: look at what is there before you make it again."
_PASSING = (429, 502, 503, 504)
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read to its end. Names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait, if the answer says so: a number or a date (RFC 9110 section 10.2.3)."""
        return retry_after(self.headers.get("retry-after", ""))


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an http or https URL."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _PORTS[parts.scheme]


class Client:
    """Sends requests for one server. The connections are opened by the first one."""

    def __init__(
        self,
        server: str,
        auth: Callable[[], httpx2.Auth | None],
        headers: Mapping[str, Template],
        urls: Iterable[str],
        retries: int,
    ) -> None:
        self._server = server
        self._make_auth = auth
        self._auth: httpx2.Auth | None = None
        self._headers = headers
        self._retries = retries
        self._limits = UpstreamLimits(server)
        # Answers set no cookies: what one caller's request brought must not go along with another's.
        jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        agent = {"User-Agent": "doorward-graphql/0.1.0"}
        transport = GuardedTransport(NamedHosts(urls, f"requests of {server}"), http2=False)
        self._client = httpx2.AsyncClient(follow_redirects=False, cookies=jar, headers=agent, transport=transport)

    @property
    def has_credentials(self) -> bool:
        """Whether requests with credentials are others than those without."""
        if self._auth is None:
            self._auth = self._make_auth()
        return bool(self._headers) or self._auth is not None

    async def send(
        self,
        what: str,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None,
        *,
        timeout: float,
        left: float,
        most: int = MAX_RESPONSE_BYTES,
        safe: bool,
        credentials: bool = True,
        call: Call | None = None,
    ) -> Answer:
        """The answer to a request; each attempt takes at most `timeout` seconds, all of them `left`. What is `safe` is
        repeated where that may help; anything else only if it was not sent at all. `call` waits for its turn, where the
        server limits requests.

        Raises: ServerError, RateLimited.
        """
        until = time.monotonic() + left
        if self._auth is None and credentials:
            self._auth = self._make_auth()
        own = {name: (await value.get()).strip() for name, value in self._headers.items()} if credentials else {}
        for attempt in range(self._retries + 1):
            pause = random.uniform(0, _FIRST_PAUSE_SECONDS * 2**attempt)  # noqa: S311 not a secret
            room = timeout
            try:
                async with self._limits.turn(method, url, call) as turn:
                    room = max(0.0, min(timeout, until - time.monotonic()))
                    request = self._client.build_request(
                        method, url, headers={**headers, **own}, content=content, timeout=room
                    )
                    answer = await self._exchange(what, request, self._auth if credentials else None, room, most)
                    turn.answered(answer.status, answer.headers)
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError) as error:
                if attempt == self._retries or not _may_repeat(error, safe) or pause >= until - time.monotonic():
                    raise _explained(self._server, what, url, room, error, safe=safe) from None
            else:
                pause = pause if answer.retry_after is None else answer.retry_after
                if attempt == self._retries or not safe or answer.status not in _PASSING:
                    return answer
                if pause > MAX_RETRY_AFTER_SECONDS or pause >= until - time.monotonic():
                    return answer
            await anyio.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    async def _exchange(
        self, what: str, request: httpx2.Request, auth: httpx2.Auth | None, timeout: float, most: int
    ) -> Answer:
        with anyio.fail_after(timeout):
            response = await self._client.send(request, auth=auth, stream=True)
            try:
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    parts.append(part)
                    size += len(part)
                    await anyio.lowlevel.checkpoint()  # decompression yields hundreds of pieces without a pause
                    if size > most:
                        hint = "Ask for less: pages, filters, `select`."
                        raise ServerError(f"{what} answered with more than {most // 2**20} MiB", hint=hint)
                return Answer(response.status_code, dict(response.headers), b"".join(parts))
            finally:
                await response.aclose()

    async def close(self) -> None:
        await self._client.aclose()


def _may_repeat(error: Exception, safe: bool) -> bool:
    if isinstance(error, httpx2.ConnectError):
        return not _untrusted(str(error))
    if isinstance(error, httpx2.ConnectTimeout):
        return True
    return safe and isinstance(error, (httpx2.NetworkError, httpx2.RemoteProtocolError))


def _untrusted(text: str) -> bool:
    """Whether the text of a ConnectError is about a certificate."""
    return "SSL" in text or "certificate" in text.lower()


def _explained(server: str, what: str, url: str, timeout: float, error: Exception, *, safe: bool) -> ServerError:
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc}"
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        why = f"{place} did not answer within {timeout:.3g} seconds"
        sent = not isinstance(error, (httpx2.ConnectTimeout, httpx2.PoolTimeout))
        hint = _MAY_BE_MADE if sent and not safe else "Try again, or raise `timeout` of the server."
        return ServerError(f"{what}: {why}", hint=hint)
    if isinstance(error, httpx2.ConnectError):
        text = str(error)[:200]
        if _untrusted(text):
            hint = "Install the certificate authority (SSL_CERT_FILE); verification is never turned off."
            return ServerError(f"{what}: the TLS certificate of {place} cannot be trusted: {text}", hint=hint)
        hint = f"Check `url` (or `schema`) of [servers.{server}], the network and the proxy."
        return ServerError(f"{what}: {place} cannot be reached: {text}", hint=hint)
    why = "the answer cannot be unpacked" if isinstance(error, httpx2.DecodingError) else "the connection was lost"
    return ServerError(f"{what}: the exchange with {place} failed: {why}", hint="Try again." if safe else _MAY_BE_MADE)
