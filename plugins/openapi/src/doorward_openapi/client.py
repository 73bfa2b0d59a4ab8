"""The HTTP client of one server: pooled, bounded in size and time, and faithful to one origin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from doorward import ServerError, Template

from doorward_openapi import streams
from doorward_openapi.servers import same_origin, shown

if TYPE_CHECKING:
    import httpx2

    from doorward_openapi.request import Request

MOST_RECEIVED = 50 * 2**20
"""Bytes of one answer, decompressed."""

_MOST_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read to its end."""

    status: int
    reason: str
    media: str
    charset: str | None
    retry_after: str | None
    body: bytes
    disposition: str = ""
    cut: str = ""
    """Why the body of a stream is not whole."""


class Client:
    """Sends requests for one server. The connections are opened by the first one."""

    def __init__(self, server: str, auth: Callable[[], httpx2.Auth | None], headers: Mapping[str, Template]) -> None:
        self._server = server
        self._make_auth = auth
        self._headers = headers
        self._opened: httpx2.AsyncClient | None = None
        self._auth: httpx2.Auth | None = None

    def _client(self) -> httpx2.AsyncClient:
        if self._opened is None:
            import httpx2

            # Answers set no cookies: what one caller's request brought must not go along with another's.
            jar = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            agent = {"User-Agent": "doorward-openapi/0.1.0"}
            self._opened = httpx2.AsyncClient(follow_redirects=False, cookies=jar, headers=agent)
        return self._opened

    def _credentials(self) -> httpx2.Auth | None:
        if self._auth is None:
            self._auth = self._make_auth()
        return self._auth

    async def send(self, what: str, request: Request, timeout: float) -> Answer:
        """Send a request, with credentials and configured headers, within `timeout` seconds.

        Redirects of GET and HEAD are followed within the origin. Raises: ServerError.
        """
        headers = {**request.headers, **self._configured(request.headers)}
        return await self._send(what, request.method, request.url, headers, request.content, timeout, self._credentials())

    def _configured(self, given: Mapping[str, bytes]) -> dict[str, bytes]:
        """The configured headers, which win over others of the same name."""
        names = {name.lower(): name for name in given}
        return {names.get(name.lower(), name): value.reveal().strip().encode() for name, value in self._headers.items()}

    async def download(self, url: str, timeout: float, most: int, *, trusted: bool | None) -> bytes:
        """The bytes of a document.

        Credentials go along where the document's origin is that of the API (`trusted`), never where it is
        another one (False), and where the API's is not known (`None`), only if it refuses without them.
        Raises: ServerError.
        """
        what = f"{self._server}: the document {shown(url)}"
        accept = {"Accept": b"application/json, application/yaml, */*;q=0.8"}
        answer: Answer | None = None
        if trusted is not True:
            answer = await self._send(what, "GET", url, accept, None, timeout, None, most)
        if trusted is True or (trusted is None and answer and answer.status in (401, 403, 404)):
            headers = {**accept, **self._configured(accept)}
            answer = await self._send(what, "GET", url, headers, None, timeout, self._credentials(), most)
        assert answer is not None
        if answer.status != 200:
            hint = "Check `spec`, and `auth` if the document needs it."
            raise ServerError(f"{what} cannot be had: {answer.status} {answer.reason}", hint=hint)
        return answer.body

    async def _send(
        self,
        what: str,
        method: str,
        url: str,
        headers: Mapping[str, bytes],
        content: bytes | None,
        timeout: float,
        auth: httpx2.Auth | None,
        most: int | None = None,
    ) -> Answer:
        with explained(self._server, what, url, timeout), anyio.fail_after(timeout):
            client = self._client()
            request = client.build_request(
                method, url, headers=[(name.encode(), value) for name, value in headers.items()], content=content, timeout=timeout
            )
            for _ in range(_MOST_REDIRECTS + 1):
                response = await client.send(request, auth=auth, stream=True)
                try:
                    if not 300 <= response.status_code < 400 or response.status_code == 304:
                        return await _read(what, response, MOST_RECEIVED if most is None else most, timeout)
                    request = _redirected(what, request, response)
                finally:
                    await response.aclose()
            raise ServerError(f"{what} redirected more than {_MOST_REDIRECTS} times")

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None


async def _read(what: str, response: httpx2.Response, most: int, timeout: float) -> Answer:
    """The answer to its end, or to where a stream's time or room ends."""
    headers = response.headers
    media = headers.get("content-type", "")
    patience = streams.patience(media, headers.get("content-length"), timeout)
    parts: list[bytes] = []
    size, cut = 0, ""
    with anyio.move_on_after(patience) as scope:
        async for part in response.aiter_bytes():
            size += len(part)
            if size > most:
                cut = f"answered with more than {most // 2**20} MiB"
                break
            parts.append(part)
    if scope.cancelled_caught:
        cut = f"it did not end within {patience:.3g} seconds"
    elif cut and not streams.kind(media):
        raise ServerError(f"{what} {cut}", hint="Ask for less: pages, filters, fields.")
    coding = headers.get("content-encoding", "").rpartition(",")[2].strip().lower()
    decoded = response.request.headers.get("accept-encoding", "")
    return Answer(
        response.status_code,
        response.reason_phrase,
        media if coding in ("", "identity") or coding in decoded else f"application/{coding}",  # what cannot be decoded is a file
        response.charset_encoding,
        headers.get("retry-after"),
        b"".join(parts),
        headers.get("content-disposition", ""),
        cut,
    )


def _redirected(what: str, request: httpx2.Request, response: httpx2.Response) -> httpx2.Request:
    """The request to follow a redirect with.

    Raises: ServerError if it leads to another origin, which must not get the credentials, or if it would repeat
    a request that may change something.
    """
    following = response.next_request
    if following is None:
        raise ServerError(f"{what} answered {response.status_code} without saying where to go")
    place = shown(str(following.url))
    hint = "If that is the API's address, set base_url to it."
    if not same_origin(str(request.url), str(following.url)):
        raise ServerError(f"{what} redirects to {place}, of another origin; it is not followed", hint=hint)
    if request.method not in ("GET", "HEAD"):
        raise ServerError(f"{what} redirects to {place}; only GET and HEAD are followed", hint=hint)
    return following


@contextmanager
def explained(server: str, what: str, url: str, timeout: float) -> Iterator[None]:
    """Errors of the connection as ServerError: who could not be reached, and what to do."""
    import httpx2

    place = f"{urlsplit(url).scheme}://{urlsplit(url).netloc.rpartition('@')[2]}"
    try:
        yield
    except (TimeoutError, httpx2.TimeoutException):
        why = f"{place} did not answer within {timeout:.3g} seconds"
        raise ServerError(f"{what}: {why}", hint="Try again, or raise `timeout` of the server.") from None
    except httpx2.ConnectError as error:
        text = str(error)
        if "SSL" in text or "certificate" in text.lower():
            why = f"the TLS certificate of {place} cannot be trusted: {text[:200]}"
            hint = "Install the certificate authority (SSL_CERT_FILE); verification is never turned off."
            raise ServerError(f"{what}: {why}", hint=hint) from None
        hint = f"Check base_url of {server}, the network and the proxy."
        raise ServerError(f"{what}: {place} cannot be reached: {text[:200]}", hint=hint) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        why = f"the exchange with {place} failed: {type(error).__name__}"
        raise ServerError(f"{what}: {why}", hint="Try again; if it stays, tell the operator.") from None
