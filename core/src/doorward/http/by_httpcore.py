"""Requests by httpcore2: over HTTP/2, through proxies, and wherever there is no asyncio.

It uses only the public interface of httpcore2: a check that relied on internals of a library could vanish silently when
they change.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import anyio
import httpcore2
import httpx2

from doorward.http.answer import HttpAnswer
from doorward.http.connection import Timeouts
from doorward.http.destinations import Destinations, first_connected
from doorward.http.message import Outgoing
from doorward.http.pool import MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, MAX_IDLE_SECONDS, Endpoint
from doorward.model.errors import ConfigError


class ByHttpcore:
    """`http2` is for https only."""

    def __init__(self, destinations: Destinations, *, http2: bool) -> None:
        self._destinations, self._http2 = destinations, http2
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}
        self._proxied: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def send(self, endpoint: Endpoint, request: Outgoing, timeouts: Timeouts) -> HttpAnswer:
        """Raises: httpx2.TransportError; what `destinations` raises."""
        asked = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=endpoint.scheme, host=endpoint.host, port=endpoint.port, target=request.target),
            headers=request.headers,
            content=request.content,
            extensions={"timeout": timeouts},
        )
        with _translated():
            answer = await self._pool(endpoint).handle_async_request(asked)
        return _Answer(answer.status, answer.headers, answer.extensions, cast(AsyncIterable[bytes], answer.stream))

    async def send_by_proxy(
        self, proxy: str, endpoint: Endpoint, url: str, request: Outgoing, timeouts: Timeouts
    ) -> HttpAnswer:
        """The proxy resolves names itself; whatever can be checked from here is checked first. Raises: as `send`;
        ConfigError for a proxy that cannot be one."""
        await self._destinations.by_proxy(endpoint.host, endpoint.port)
        if proxy not in self._proxied:
            self._proxied[proxy] = self._by_proxy(proxy)
        asked = httpx2.Request(
            request.method,
            url,
            headers=request.headers,
            content=request.content or None,
            extensions={"timeout": timeouts},
        )
        answer = await self._proxied[proxy].handle_async_request(asked)
        return _Answer(
            answer.status_code, answer.headers.raw, answer.extensions, cast(AsyncIterable[bytes], answer.stream)
        )

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
        for proxied in self._proxied.values():
            await proxied.aclose()
        self._pools.clear()
        self._proxied.clear()

    def _by_proxy(self, proxy: str) -> httpx2.AsyncHTTPTransport:
        limits = httpx2.Limits(
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=MAX_IDLE_SECONDS,
        )
        try:
            if (httpx2.URL(proxy).port or 1) > 65535:
                raise ValueError("no port")
            return httpx2.AsyncHTTPTransport(proxy=proxy, http2=self._http2, limits=limits)
        except ImportError:
            what, hint = "needs the package socksio, which is not installed", "Run `pip install socksio`."
        except (ValueError, httpx2.InvalidURL):  # without its text: it may have a password
            what, hint = "is no URL of a proxy", "Write it as http://HOST:PORT."
        raise ConfigError(f"the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names {what}", hint=hint)

    def _pool(self, endpoint: Endpoint) -> httpcore2.AsyncConnectionPool:
        tls = endpoint.scheme == "https"
        if (key := endpoint.socket or endpoint.scheme) not in self._pools:
            self._pools[key] = httpcore2.AsyncConnectionPool(
                ssl_context=httpcore2.default_ssl_context() if tls else None,
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_IDLE_CONNECTIONS,
                keepalive_expiry=MAX_IDLE_SECONDS,
                http2=self._http2 and tls,
                uds=endpoint.socket,
                network_backend=None if endpoint.socket else _Network(self._destinations),
            )
        return self._pools[key]


class _Answer(HttpAnswer):
    def __init__(
        self, status: int, headers: list[tuple[bytes, bytes]], more: Any, stream: AsyncIterable[bytes]
    ) -> None:
        super().__init__(status, more.get("reason_phrase", b""), headers, more.get("http_version", b"HTTP/1.1"))
        self._stream, self._parts = stream, aiter(stream)

    async def read(self) -> bytes:
        with _translated():
            async for part in self._parts:
                if part:
                    return part
        return b""

    async def aclose(self) -> None:
        with _translated():
            await cast(Any, self._stream).aclose()
            await cast(Any, self._parts).aclose()


class _Network(httpcore2.AsyncNetworkBackend):
    """TCP connections to checked addresses."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        async def connect(address: str) -> httpcore2.AsyncNetworkStream:
            return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)

        try:
            with anyio.fail_after(timeout):
                addresses = await self._destinations.addresses(host, port)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("the name was not resolved in time") from None
        except OSError as error:
            raise httpcore2.ConnectError(f"the name cannot be resolved: {error}") from error
        try:
            return await first_connected(addresses, connect, _closed, httpcore2.ConnectError, httpcore2.ConnectTimeout)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


async def _closed(streams: Sequence[httpcore2.AsyncNetworkStream]) -> None:
    for stream in streams:
        await stream.aclose()


@contextmanager
def _translated() -> Iterator[None]:
    """Turns errors of httpcore2 into those of httpx2, which have the same names."""
    try:
        yield
    except Exception as error:
        for kind in type(error).__mro__:
            if kind.__module__.startswith("httpcore2") and hasattr(httpx2, kind.__name__):
                raise getattr(httpx2, kind.__name__)(str(error)) from error
        raise
