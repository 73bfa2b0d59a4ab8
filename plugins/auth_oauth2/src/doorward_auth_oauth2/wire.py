"""What goes to an authorization server and comes from it: over TLS, without redirects elsewhere, of bounded size and time; every
secret in it is known to the scrubber before anybody else sees it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

import anyio
import httpx2
from doorward import ConfigError, ServerError

PATIENCE = 15.0
"""Seconds for one exchange."""
MOST = 256 * 2**10
"""Bytes of one answer."""
MOST_REDIRECTS = 4
"""Requests of one exchange."""
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SECRET = re.compile(r"(?i)token$|^code|secret|assertion|password")
"""Names of form fields and of members of answers that hold secrets: access_token, code_verifier, client_secret …"""


class Refused(ServerError):
    """The authorization server says no: asking again will not help."""


class Wire:
    """Sends the requests of a flow. `named` are the URLs of the configuration: if one is on loopback, others may be, by plain HTTP."""

    def __init__(self, conceal: Callable[[str], None], named: Iterable[str]) -> None:
        self._conceal = conceal
        self._loopback = any(is_loopback(parsed(url)) for url in named)
        self._client = httpx2.AsyncClient(follow_redirects=False, timeout=PATIENCE, headers={"User-Agent": "doorward"})

    async def __aenter__(self) -> Wire:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._client.aclose()

    def check(self, url: str) -> None:
        """Whether a URL that somebody names may be used. Raises: ServerError."""
        at = parsed(url)
        if at.scheme == "https" and at.host and not at.userinfo and (self._loopback or not is_loopback(at)):
            return
        if at.scheme != "http" or at.userinfo or not self._loopback or not is_loopback(at):
            raise ServerError(f"{place(url)} was not asked: only https is, and loopback if the server is there too")

    async def get(self, url: str) -> httpx2.Response:
        """The metadata at a URL that somebody names, if it is there. Raises: ServerError."""
        self.check(url)
        return await self.send(httpx2.Request("GET", url, headers={"Accept": "application/json"}))

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """One exchange; redirects of a GET are followed within their origin. An answer below 500 comes back as it is.

        Raises: ServerError if there is no such answer; Refused for a POST that was refused.
        """
        for _ in range(MOST_REDIRECTS):
            self.check(str(request.url))
            self._conceal_request(request)
            response, further = await self._exchange(request)
            if further is None or request.method != "GET" or further.url.origin != request.url.origin:
                break
            request = further
        where = place(str(request.url))
        told = self._conceal_answer(response)
        if response.status_code >= 500 or response.status_code == 429:
            raise ServerError(f"{where} answered with {response.status_code}", hint="Try again later.")
        if request.method == "POST" and response.is_redirect:
            raise ServerError(f"{where} redirects, which is not followed")
        if request.method == "POST" and not response.is_success:
            raise Refused(f"{where} refused: {said(told, response.status_code)}")
        return response

    async def _exchange(self, request: httpx2.Request) -> tuple[httpx2.Response, httpx2.Request | None]:
        """The answer, whole, and the request to which it redirects."""
        where = place(str(request.url))
        body = b""
        try:
            with anyio.fail_after(PATIENCE):
                response = await self._client.send(request, stream=True)
                async with contextlib.aclosing(response):
                    async for part in response.aiter_bytes():
                        body += part
                        if len(body) > MOST:
                            raise ServerError(f"{where} answered with more than {MOST // 1024} KiB")
        except TimeoutError:
            raise ServerError(f"{where} cannot be reached: no answer within {PATIENCE:.0f} seconds") from None
        except httpx2.HTTPError as error:
            raise ServerError(f"{where} cannot be reached: {type(error).__name__}: {error}") from None
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in ("content-encoding", "content-length")]
        return httpx2.Response(response.status_code, headers=headers, content=body, request=request), response.next_request

    async def challenge(self, url: str, *, mcp: bool) -> httpx2.Response:
        """What a server says to a request without credentials; its body is not read. An MCP server is asked as its clients do, for many
        know nothing but POST; `ping` does nothing where it is answered.

        Raises: ServerError if it says nothing.
        """
        self.check(url)
        headers = {"Accept": "application/json, text/event-stream"}
        method, body = ("POST", PING) if mcp else ("GET", None)
        try:
            with anyio.fail_after(PATIENCE):
                async with self._client.stream(method, url, headers=headers, json=body) as response:
                    return response
        except TimeoutError:
            raise ServerError(f"{place(url)} cannot be reached: no answer within {PATIENCE:.0f} seconds") from None
        except httpx2.HTTPError as error:
            raise ServerError(f"{place(url)} cannot be reached: {type(error).__name__}: {error}") from None

    def _conceal_request(self, request: httpx2.Request) -> None:
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if scheme and credentials:
            self._conceal(credentials)
        if request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"):
            for name, value in parse_qsl(request.content.decode()):
                if SECRET.search(name):
                    self._conceal(value)

    def _conceal_answer(self, response: httpx2.Response) -> dict[str, Any]:
        """The answer's JSON object, its secrets concealed; empty if it is none."""
        try:
            told = json.loads(response.content)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(told, dict):
            return {}
        for name, value in told.items():
            if isinstance(value, str) and SECRET.search(name):
                self._conceal(value)
        return told


class Capped(httpx2.AsyncByteStream):
    """The body of an answer, up to a size."""

    def __init__(self, stream: Any, who: str) -> None:
        self._stream, self._who = stream, who

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MOST:
                raise ServerError(f"{self._who} refuses the token, with more than {MOST // 1024} KiB of text")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def parsed(url: str) -> httpx2.URL:
    """Raises: ServerError."""
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ServerError(f"{url[:100]!r} is no URL") from None


def is_loopback(url: httpx2.URL) -> bool:
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def require_private(url: str, server: str) -> None:
    """Whether tokens may be sent there. Raises: ConfigError."""
    at = parsed(url)
    if not url or not at.host:
        raise ConfigError(f"{server}: it is not known where tokens may go", hint="Set `url` or `base_url` of the server.")
    if at.scheme != "https" and not (at.scheme == "http" and is_loopback(at)):
        raise ConfigError(f"{server}: tokens go over https only, and its URL is {place(url)}")


def place(url: str) -> str:
    """A URL without what may be secret in it."""
    return str(httpx2.URL(url).copy_with(userinfo=b"", query=None, fragment=None))


def said(told: dict[str, Any], status: int | None = None) -> str:
    """An error as an authorization server tells it (RFC 6749 section 5.2), for people, cut; or its status."""
    words = [told[key] for key in ("error", "error_description") if isinstance(told.get(key), str) and told[key]]
    text = re.sub(r"\s+", " ", re.sub(r"[^\x20-\x7e\xa0-\uffff]", " ", ": ".join(words)))[:300].strip()
    return text or (f"status {status}" if status else "no reason was given")
