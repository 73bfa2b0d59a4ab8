"""Sends HTTP requests: over HTTP/1.1 the quickest way, over HTTP/2 and through proxies by httpcore2."""

from __future__ import annotations

import asyncio
import os
import re
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx2

from doorward.http.answer import HttpAnswer
from doorward.http.connection import Http1Connection, Timeouts
from doorward.http.destinations import Destinations
from doorward.http.message import Content, Headers, Incoming, Outgoing
from doorward.http.pool import Endpoint, Http1Pool
from doorward.http.tracing import trace, traced_by

if TYPE_CHECKING:
    from doorward.http.by_httpcore import ByHttpcore
    from doorward.http.call_trace import CallTrace

ENGINE_VARIABLE = "DOORWARD_HTTP_ENGINE"
"""`httpcore2` in this variable of the environment has httpcore2 send everything."""

_MAX_ORIGINS = 256
"""Origins of which is known what they speak: an answer can lead to any number of others."""
_ORIGIN = re.compile(r"[A-Za-z]+://[^/?#]+")
_PLAIN_TARGET = re.compile(r"/(?:[A-Za-z0-9_~!$&'()*+,;=:@/?.-]|%[0-9A-Fa-f]{2})*")
"""A path and a query that are sent as they are."""
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class _Origin:
    endpoint: Endpoint
    host: bytes
    """Its `Host` header."""
    proxy: str | None
    speaks_http1: bool = False
    """Whether it had the choice, and took HTTP/1.1."""
    sockets: dict[str, Endpoint] = field(default_factory=dict)


class HttpEngine:
    """Sends requests only to allowed addresses. A connection is made to the very address that was checked, whatever a
    name server says next. `by_socket` names the Unix socket for a URL, if there is one. `http2` is for https only: the
    server chooses. The proxies are those that the environment names at the first request to an origin."""

    def __init__(
        self,
        destinations: Destinations,
        by_socket: Callable[[str], str | None] = lambda url: None,
        *,
        http2: bool = False,
    ) -> None:
        self._destinations, self._by_socket, self._http2 = destinations, by_socket, http2
        self._origins: dict[str, _Origin] = {}
        self._pool: Http1Pool | None = None
        self._others: ByHttpcore | None = None
        self._all_by_httpcore = os.environ.get(ENGINE_VARIABLE, "").strip() == "httpcore2"

    async def send(
        self, method: str, url: str, headers: Headers, content: Content = b"", timeouts: Timeouts | None = None
    ) -> HttpAnswer:
        """Send a request, with the headers `Host` and `Content-Length` or `Transfer-Encoding` if they are missing.
        Redirects are not followed, and nothing is sent twice.

        Raises: httpx2.TransportError, httpx2.InvalidURL; what `destinations` raises.
        """
        if (followed_by := trace()) is not None:
            return await self._traced(followed_by, method, url, headers, content, timeouts)
        found = _ORIGIN.match(url)
        if found is None:
            raise httpx2.UnsupportedProtocol("the URL is no http or https URL")
        origin = self._origins.get(found[0]) or self._new_origin(found[0])
        socket = self._by_socket(url)
        endpoint = origin.endpoint if socket is None else self._at_socket(origin, socket)
        request = Outgoing.of(method, _target(url, found.end()), origin.host, headers, content)
        timeouts = timeouts or {}
        if socket is None and origin.proxy is not None:
            return await self._by_httpcore().send_by_proxy(origin.proxy, endpoint, url, request, timeouts)
        asks_first = self._http2 and endpoint.scheme == "https"
        pool = None if asks_first and not origin.speaks_http1 else self._http1_pool()
        if pool is None:
            answer = await self._by_httpcore().send(endpoint, request, timeouts)
            origin.speaks_http1 = answer.version != b"HTTP/2"
            return answer
        connection, incoming = await pool.exchange(endpoint, request, timeouts)
        return _Http1Answer(connection, incoming, timeouts.get("read"))

    async def _traced(
        self, follows: CallTrace, method: str, url: str, headers: Headers, content: Content, timeouts: Timeouts | None
    ) -> HttpAnswer:
        """Send a request that is followed. Where it has a context of its own, that stays."""
        followed = follows.request(method, url)
        given = {name.lower() for name, _ in headers}
        more = [(name.encode(), value.encode()) for name, value in followed.headers.items()]
        headers = [*headers, *(each for each in more if each[0] not in given)]
        status, error = None, ""
        try:
            with traced_by(None):
                answer = await self.send(method, url, headers, content, timeouts)
            status = answer.status
            return answer
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            followed.end(status, error)

    async def aclose(self) -> None:
        if self._pool is not None:
            self._pool.close()
        if self._others is not None:
            await self._others.aclose()

    def _by_httpcore(self) -> ByHttpcore:
        if self._others is None:
            from doorward.http.by_httpcore import ByHttpcore  # heavy: only where it is needed

            self._others = ByHttpcore(self._destinations, http2=self._http2)
        return self._others

    def _http1_pool(self) -> Http1Pool | None:
        """The pool of this event loop; `None` if there is no loop of asyncio, or the operator wants none."""
        if self._all_by_httpcore:
            return None
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        if self._pool is None or self._pool.loop is not loop:
            self._pool = Http1Pool(self._destinations)
        return self._pool

    def _new_origin(self, url: str) -> _Origin:
        if len(self._origins) >= _MAX_ORIGINS:
            self._origins.clear()
        made = self._origins[url] = _origin(httpx2.URL(url))
        return made

    @staticmethod
    def _at_socket(origin: _Origin, path: str) -> Endpoint:
        if path not in origin.sockets:
            endpoint = origin.endpoint
            origin.sockets[path] = Endpoint(endpoint.scheme, endpoint.host, endpoint.port, path)
        return origin.sockets[path]


class _Http1Answer(HttpAnswer):
    def __init__(self, connection: Http1Connection, incoming: Incoming, seconds: float | None) -> None:
        super().__init__(incoming.status, incoming.reason, incoming.headers, b"HTTP/1.1")
        self._connection, self._incoming, self._seconds = connection, incoming, seconds

    async def read(self) -> bytes:
        return await self._connection.read(self._incoming, self._seconds)

    async def aclose(self) -> None:
        self._connection.drop(self._incoming)


def _origin(url: httpx2.URL) -> _Origin:
    if url.scheme not in _PORTS:
        raise httpx2.UnsupportedProtocol("the URL is no http or https URL")
    endpoint = Endpoint(url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])
    return _Origin(endpoint, url.netloc, _proxy(url))


def _target(url: str, start: int) -> bytes:
    """The path and the query as they are sent."""
    target = url[start:]
    if _PLAIN_TARGET.fullmatch(target) and "/." not in target and not target.endswith("?"):
        return target.encode()
    return httpx2.URL(url).raw_path


def _proxy(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for a URL."""
    proxies = urllib.request.getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or urllib.request.proxy_bypass(url.host):
        return None
    return found if "://" in found else f"http://{found}"
