"""Sends HTTP requests by httpcore2, below the layers of httpx2: to checked addresses, and followed by plugins that
trace."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NoReturn, cast

import httpcore2
import httpx2
from doorward.tracing import CallTrace, current_trace
from doorward.values import is_loopback, known_proxy

from doorward_http.answer import Headers, HttpAnswer
from doorward_http.connections import Origin, Stream
from doorward_http.destinations import Destinations
from doorward_http.pool import MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, MAX_IDLE_SECONDS, Pool

Content = bytes | AsyncIterable[bytes]
Timeouts = Mapping[str, float | None]
"""Seconds, as of httpx2: `pool` for a free connection, `connect`, `write` and `read` for each step. What is missing, or
`None`, takes as long as it takes."""

_MAX_ORIGINS = 256
"""Origins that are remembered: an answer can lead to any number of others."""
_ORIGIN = re.compile(r"[A-Za-z]+://[^/?#]+")
_PLAIN_TARGET = re.compile(r"/(?:[A-Za-z0-9_~!$&'()*+,;=:@/?.-]|%[0-9A-Fa-f]{2})*")
"""A path and a query that are sent as they are."""
_PORTS = {"http": 80, "https": 443}
_BOTH = {b"content-length", b"transfer-encoding"}
"""An answer that has both somebody in between may have understood otherwise (RFC 9112 section 6.3)."""
_WITH_LENGTH = ("POST", "PUT", "PATCH")
"""Methods whose requests say that there is no content."""


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
        self._origins: dict[str, Origin] = {}
        self._pools: dict[tuple[str, str | None], Pool] = {}
        self._proxied: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def send(
        self, method: str, url: str, headers: Headers, content: Content = b"", timeouts: Timeouts | None = None
    ) -> HttpAnswer:
        """Send a request, with the headers `Host` and `Content-Length` or `Transfer-Encoding` if they are missing.
        Redirects are not followed, and nothing is sent twice.

        Raises: httpx2.TransportError, httpx2.InvalidURL; what `destinations` raises.
        """
        if (trace := current_trace()) is not None:
            return await self._traced(trace, method, url, headers, content, timeouts)
        return await self._send(method, url, headers, content, timeouts)

    async def _traced(
        self, trace: CallTrace, method: str, url: str, headers: Headers, content: Content, timeouts: Timeouts | None
    ) -> HttpAnswer:
        """Send a request that is followed. Where it has a context of its own, that stays."""
        followed = trace.request(method, url)
        given = {name.lower() for name, _ in headers}
        more = [(name.encode(), value.encode()) for name, value in followed.headers.items()]
        headers = [*headers, *(each for each in more if each[0] not in given)]
        status, error = None, ""
        try:
            answer = await self._send(method, url, headers, content, timeouts)
            status = answer.status
            return answer
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            followed.end(status, error)

    async def _send(
        self, method: str, url: str, headers: Headers, content: Content, timeouts: Timeouts | None
    ) -> HttpAnswer:
        found = _ORIGIN.match(url)
        if found is None:
            raise httpx2.UnsupportedProtocol("the URL is no http or https URL")
        origin = self._origins.get(found[0]) or self._new_origin(found[0])
        headers = _complete(method, origin.named, headers, content)
        timeout: dict[str, Any] = {"timeout": timeouts or {}}
        socket = self._by_socket(url)
        if socket is None and origin.proxy is not None:
            return await self._send_by_proxy(origin, method, url, headers, content, timeout)
        request = httpcore2.Request(
            method,
            httpcore2.URL(scheme=origin.scheme, host=origin.host, port=origin.port, target=_target(url, found.end())),
            headers=headers,
            content=content or _NO_CONTENT,
            extensions=timeout,
        )
        pool = self._pools.get((origin.scheme, socket)) or self._new_pool(origin.scheme, socket)
        try:
            answer, connection = await pool.send(origin, request)
        except Exception as error:
            raise _of_httpx2(error) from error
        stream, release = cast(AsyncIterable[bytes], answer.stream), partial(pool.release, connection)
        made = _Answer(answer.status, answer.headers, answer.extensions, stream, release)
        return made if made.status >= 200 else await made.refused()

    async def _send_by_proxy(
        self, origin: Origin, method: str, url: str, headers: Headers, content: Content, extensions: dict[str, Any]
    ) -> HttpAnswer:
        """The proxy resolves names itself; whatever can be checked from here is checked first."""
        assert origin.proxy is not None
        await self._destinations.by_proxy(origin.host.decode("ascii"), origin.port)
        if origin.proxy not in self._proxied:
            self._proxied[origin.proxy] = self._by_proxy(origin.proxy)
        request = httpx2.Request(method, url, headers=headers, content=content or None, extensions=extensions)
        answer = await self._proxied[origin.proxy].handle_async_request(request)
        stream = cast(AsyncIterable[bytes], answer.stream)
        made = _Answer(answer.status_code, answer.headers.raw, answer.extensions, stream)
        return made if made.status >= 200 else await made.refused()

    async def aclose(self) -> None:
        """Close all connections, whatever is under way."""
        pools: list[Pool | httpx2.AsyncHTTPTransport] = [*self._pools.values(), *self._proxied.values()]
        self._pools.clear()
        self._proxied.clear()
        for pool in pools:
            await pool.aclose()

    def _new_origin(self, url: str) -> Origin:
        parsed = httpx2.URL(url)
        if parsed.scheme not in _PORTS:
            raise httpx2.UnsupportedProtocol("the URL is no http or https URL")
        if len(self._origins) >= _MAX_ORIGINS:
            self._origins.clear()
        port = parsed.port or _PORTS[parsed.scheme]
        made = self._origins[url] = Origin(parsed.scheme, parsed.raw_host, port, parsed.netloc, _proxy(parsed))
        return made

    def _new_pool(self, scheme: str, socket: str | None) -> Pool:
        made = Pool(self._destinations, tls=scheme == "https", http2=self._http2, socket=socket)
        self._pools[scheme, socket] = made
        return made

    def _by_proxy(self, proxy: str) -> httpx2.AsyncHTTPTransport:
        limits = httpx2.Limits(
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=MAX_IDLE_SECONDS,
        )
        with known_proxy():
            if (httpx2.URL(proxy).port or 1) > 65535:
                raise ValueError("no port")
            return httpx2.AsyncHTTPTransport(proxy=proxy, http2=self._http2, limits=limits)


class _Answer(HttpAnswer):
    def __init__(
        self,
        status: int,
        headers: Headers,
        extensions: Mapping[str, Any],
        stream: AsyncIterable[bytes],
        release: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        version = extensions.get("http_version", b"HTTP/1.1")
        super().__init__(status, extensions.get("reason_phrase", b""), headers, version)
        self._stream, self._parts = stream, aiter(stream)
        self._connection = extensions.get("network_stream")
        self._release = release
        framing = {name.lower() for name, _ in headers if len(name) in (14, 17)}
        if framing >= _BOTH and isinstance(self._connection, Stream):
            self._connection.spent = True

    async def read(self) -> bytes:
        try:
            async for part in self._parts:
                if part:
                    if isinstance(self._connection, Stream):
                        self._connection.without_content = 0
                    return part
        except Exception as error:
            raise _of_httpx2(error) from error
        await self.aclose()
        return b""

    async def aclose(self) -> None:
        release, self._release = self._release, None
        try:
            await cast(Any, self._stream).aclose()
            await cast(Any, self._parts).aclose()
        except Exception as error:
            raise _of_httpx2(error) from error
        finally:
            if release is not None:
                await release()

    async def refused(self) -> NoReturn:
        """Raises: httpx2.RemoteProtocolError."""
        await self.aclose()
        raise httpx2.RemoteProtocolError(f"the status {self.status} was not asked for")


class _NoContent:
    """Nothing: httpcore2 would make an event of b""."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


_NO_CONTENT = _NoContent()


def _complete(method: str, host: bytes, headers: Headers, content: Content) -> Headers:
    """The headers with what they lack of `Host` and the length of the content.

    Raises: httpx2.LocalProtocolError if they contradict each other or the content, so that the server could take a
    part of the request for another one.
    """
    hosts, lengths, codings = [], [], []
    for name, value in headers:
        size = len(name)
        if size == 4 and name.lower() == b"host":
            hosts.append(value)
        elif size == 14 and name.lower() == b"content-length":
            lengths.append(value)
        elif size == 17 and name.lower() == b"transfer-encoding":
            codings.append(value.lower())
    if len(hosts) > 1 or len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]):
        raise httpx2.LocalProtocolError("Host, Content-Length and Transfer-Encoding contradict each other")
    known = len(content) if isinstance(content, bytes) else None
    if lengths:
        length = int(lengths[0]) if lengths[0].isdigit() and len(lengths[0]) < 20 else -1
        if length < 0 or known not in (None, length):
            raise httpx2.LocalProtocolError("the content has not the length that its header says")
    headers = headers if hosts else [(b"Host", host), *headers]
    if lengths or codings:
        return headers
    if known is None:
        return [*headers, (b"Transfer-Encoding", b"chunked")]
    return [*headers, (b"Content-Length", b"%d" % known)] if known or method in _WITH_LENGTH else headers


def _target(url: str, start: int) -> bytes:
    """The path and the query as they are sent."""
    target = url[start:]
    if _PLAIN_TARGET.fullmatch(target) and "/." not in target and not target.endswith("?"):
        return target.encode()
    return httpx2.URL(url).raw_path


def _proxy(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for a URL. None for this machine: credentials go there by plain http, which
    nobody is to read, and the proxy would take its own loopback for it."""
    if is_loopback(url.host):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or urllib.request.proxy_bypass(url.host):
        return None
    return found if "://" in found else f"http://{found}"


def _of_httpx2(error: Exception) -> Exception:
    """The error of httpx2 that has the name of one of httpcore2, or of a library below it."""
    for kind in type(error).__mro__:
        if kind.__module__.startswith(("httpcore2", "h11", "h2")) and hasattr(httpx2, kind.__name__):
            if kind.__name__ == "LocalProtocolError":  # its text may be a credential
                return httpx2.LocalProtocolError("a header, or the length of the content, cannot be sent as it is")
            return cast(Exception, getattr(httpx2, kind.__name__)(str(error)))
    return error
