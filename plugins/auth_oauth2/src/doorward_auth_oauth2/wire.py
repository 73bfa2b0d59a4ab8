"""The exchange with an authorization server: over TLS, without redirects elsewhere, limited in size and time. The
scrubber learns every secret in it before anybody else sees it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

import anyio
import httpx2
from doorward import LoginRefused, ServerError
from doorward.values import quoted
from doorward_auth_kit import EXCHANGE_SECONDS, exchange, is_loopback, parsed, place
from doorward_http import PRIVATE_ADDRESS, GuardedTransport, not_public, not_public_name, resolved

MAX_REQUESTS = 4
"""Requests of one exchange, redirects included."""
_UNREACHABLE_HINT = "Is it up, and is its address right?"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SECRET = re.compile(r"(?i)token$|^code|^device_code|secret|assertion$|password")
"""Names of form fields and of members of answers that hold secrets: access_token, code_verifier, client_secret …"""


class Refused(LoginRefused):
    """The authorization server refused, with a `code` of RFC 6749 section 5.2."""

    def __init__(self, message: str, *, hint: str | None = None, code: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class Destinations:
    """Where requests may go: to configured hosts, whatever their addresses; to public addresses; and to addresses
    of a kind (such as loopback) that the configuration itself spells out. A name does not count for a kind: it may
    lead anywhere at any time."""

    def __init__(self, named: Iterable[str]) -> None:
        urls = [parsed(url) for url in named]
        self._named = {(url.host, _port(url)) for url in urls}
        self._kinds = {"", *(not_public_name(url.host) for url in urls)}
        self.loopback = any(is_loopback(url.host) for url in urls)
        if self.loopback:
            self._kinds.add(PRIVATE_ADDRESS)  # a user of this machine may log in at their organisation's server

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host. Raises: ServerError if requests may not go there, OSError if the
        name cannot be resolved."""
        found = await resolved(host, port)
        wrong = next(filter(None, (what for each in found if (what := not_public(each)) not in self._kinds)), "")
        if wrong and (host, port) not in self._named:
            raise ServerError(
                f"{host}:{port} is {wrong} address, and was not asked: only the configuration can send there",
                hint="If the login is meant to be there, set issuer (or token_url and authorization_url) in auth.",
            )
        return found

    async def by_proxy(self, host: str, port: int) -> None:
        """The same check for a host behind a proxy, as far as possible from here. Raises: ServerError."""
        with contextlib.suppress(OSError):  # a proxy may know more names
            await self.addresses(host, port)


class Wire:
    """Sends the requests of a flow. `named` are the configured URLs: if one of them is on loopback, other URLs may
    be too, with plain HTTP."""

    def __init__(self, redact: Callable[[str], None], named: Iterable[str]) -> None:
        self._redact = redact
        self._destinations = Destinations(named)
        self._client = httpx2.AsyncClient(
            follow_redirects=False,
            timeout=EXCHANGE_SECONDS,
            headers={"User-Agent": "doorward"},
            transport=GuardedTransport(self._destinations),
        )

    async def __aenter__(self) -> Wire:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._client.aclose()

    def check(self, url: str) -> None:
        """Refuse a URL that is neither https nor on an allowed loopback. Raises: ServerError."""
        at = parsed(url)
        private = at.scheme == "https" or (at.scheme == "http" and self._destinations.loopback and is_loopback(at.host))
        if not private or not at.host or at.userinfo:
            raise ServerError(f"{place(url)} was not asked: only https is, and loopback if the server is there too")

    async def check_page(self, url: str) -> None:
        """Refuse a page to which a person may not be sent: their browser is in the same network as we
        are. Raises: ServerError."""
        self.check(url)
        at = parsed(url)
        await self._destinations.by_proxy(at.host, _port(at))

    async def get(self, url: str) -> httpx2.Response:
        """GET the metadata at a URL that somebody else named. Raises: ServerError."""
        self.check(url)
        return await self.send(httpx2.Request("GET", url, headers={"Accept": "application/json"}))

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """One exchange; redirects of a GET are followed within their origin. An answer below 500 is returned as it is.

        Raises: ServerError if there is no such answer; Refused for a POST that was refused.
        """
        for _ in range(MAX_REQUESTS):
            self.check(str(request.url))
            self._conceal_request(request)
            response = await exchange(self._client, request)
            further = response.next_request
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
            raise Refused(f"{where} refused: {said(told, response.status_code)}", code=str(told.get("error") or ""))
        return response

    async def challenge(self, url: str, *, mcp: bool) -> httpx2.Response:
        """A server's answer to a request without credentials; its body is not read. An MCP server gets the POST of an
        MCP client, for many accept nothing else; `ping` has no effect if it is answered.

        Raises: ServerError if it says nothing.
        """
        self.check(url)
        headers = {"Accept": "application/json, text/event-stream"}
        method, body = ("POST", PING) if mcp else ("GET", None)
        try:
            with anyio.fail_after(EXCHANGE_SECONDS):
                async with self._client.stream(method, url, headers=headers, json=body) as response:
                    return response
        except TimeoutError:
            raise ServerError(
                f"{place(url)} cannot be reached: no answer within {EXCHANGE_SECONDS:.0f} seconds",
                hint=_UNREACHABLE_HINT,
            ) from None
        except httpx2.HTTPError as error:
            why = str(error) or "the connection was lost"
            raise ServerError(f"{place(url)} cannot be reached: {why}", hint=_UNREACHABLE_HINT) from None

    def _conceal_request(self, request: httpx2.Request) -> None:
        scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if scheme and credentials:
            self._redact(credentials)
        if request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"):
            for name, value in parse_qsl(request.content.decode()):
                if SECRET.search(name):
                    self._redact(value)

    def _conceal_answer(self, response: httpx2.Response) -> dict[str, Any]:
        """The answer's JSON object, whose secrets the scrubber learns; empty if it is not one."""
        try:
            told = json.loads(response.content)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(told, dict):
            return {}
        for name, value in told.items():
            if isinstance(value, str) and SECRET.search(name):
                self._redact(value)
        return told


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def said(told: dict[str, Any], status: int | None = None) -> str:
    """The text of an authorization server's error (RFC 6749 section 5.2), cut to a readable length; or its status."""
    words = [told[key] for key in ("error", "error_description") if isinstance(told.get(key), str) and told[key]]
    text = re.sub(r"\s+", " ", re.sub(r"[^\x20-\x7e\xa0-\uffff]", " ", ": ".join(words)))[:300].strip()
    return quoted(text) if text else (f"status {status}" if status else "no reason was given")
