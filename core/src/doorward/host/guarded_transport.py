"""HTTP connections for plugins: pooled, HTTP/1.1 or 2, to checked addresses, through a proxy or a Unix socket.

It uses only the public interface of httpcore2: a check that relied on internals of a library could vanish silently when
they change.
"""

from __future__ import annotations

import urllib.request
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

import anyio
import httpcore2
import httpx2

MAX_CONNECTIONS = 100
_MAX_IDLE_CONNECTIONS = 20
"""Idle connections that are kept."""
_MAX_IDLE_SECONDS = 20.0
"""Seconds for which an idle connection is kept."""
_NEXT_ADDRESS_SECONDS = 0.25
"""Seconds until the next address of a host is tried too (RFC 8305 section 5)."""


class Destinations(Protocol):
    """Decides where connections may go."""

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host to which a connection may be made, in their order.

        Raises: DoorwardError if there is none; OSError if the name cannot be resolved.
        """

    async def by_proxy(self, host: str, port: int) -> None:
        """Raises: DoorwardError if a proxy, which resolves names itself, may not be asked for this host."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests only to allowed addresses. A connection is made to the very address that was checked, whatever a
    name server says next. `by_socket` names the Unix socket for a URL, if there is one. `http2` is for https only."""

    def __init__(
        self,
        destinations: Destinations,
        by_socket: Callable[[str], str | None] = lambda url: None,
        *,
        http2: bool = False,
    ) -> None:
        self._destinations = destinations
        self._by_socket = by_socket
        self._http2 = http2
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}
        self._proxied: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        path = self._by_socket(str(url))
        if path is None and (proxy := _proxy(url)):
            return await self._by_proxy(proxy, request)
        pool = self._pool(url.scheme, path)
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        asked = httpcore2.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=cast(Any, request.stream),
            extensions=request.extensions,
        )
        with _translated():
            answer = await pool.handle_async_request(asked)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Stream(answer.stream), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
        for proxied in self._proxied.values():
            await proxied.aclose()
        self._pools.clear()
        self._proxied.clear()

    def _pool(self, scheme: str, path: str | None) -> httpcore2.AsyncConnectionPool:
        if (key := path or scheme) not in self._pools:
            self._pools[key] = httpcore2.AsyncConnectionPool(
                ssl_context=httpcore2.default_ssl_context() if scheme == "https" else None,
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=_MAX_IDLE_CONNECTIONS,
                keepalive_expiry=_MAX_IDLE_SECONDS,
                http2=self._http2 and scheme == "https",
                uds=path,
                network_backend=None if path else _Network(self._destinations),
            )
        return self._pools[key]

    async def _by_proxy(self, proxy: str, request: httpx2.Request) -> httpx2.Response:
        """The proxy resolves names itself; whatever can be checked from here is checked first."""
        await self._destinations.by_proxy(
            request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
        )
        if proxy not in self._proxied:
            limits = httpx2.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=_MAX_IDLE_CONNECTIONS,
                keepalive_expiry=_MAX_IDLE_SECONDS,
            )
            self._proxied[proxy] = httpx2.AsyncHTTPTransport(proxy=proxy, http2=self._http2, limits=limits)
        return await self._proxied[proxy].handle_async_request(request)


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
        try:
            with anyio.fail_after(timeout):
                addresses = await self._destinations.addresses(host, port)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("the name was not resolved in time") from None
        except OSError as error:
            raise httpcore2.ConnectError(f"the name cannot be resolved: {error}") from error
        if len(addresses) == 1:
            return await self._inner.connect_tcp(addresses[0], port, timeout, local_address, socket_options)
        return await self._first(addresses, port, timeout)

    async def _first(self, addresses: list[str], port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        """The first connection to one of the addresses; each is tried a little after the one before."""
        made: list[httpcore2.AsyncNetworkStream] = []
        errors: list[Exception] = []

        async def attempt(address: str, over: anyio.Event) -> None:
            try:
                made.append(await self._inner.connect_tcp(address, port, timeout))
                group.cancel_scope.cancel()
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                errors.append(error)
            over.set()

        try:
            async with anyio.create_task_group() as group:
                for address in addresses:
                    over = anyio.Event()
                    group.start_soon(attempt, address, over)
                    with anyio.move_on_after(_NEXT_ADDRESS_SECONDS):
                        await over.wait()
        except BaseException:
            await _closed(made)
            raise
        await _closed(made[1:])
        if not made:
            raise errors[0] if errors else httpcore2.ConnectError("the name has no addresses")
        return made[0]

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


async def _closed(streams: list[httpcore2.AsyncNetworkStream]) -> None:
    with anyio.CancelScope(shield=True):
        for stream in streams:
            await stream.aclose()


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in cast(AsyncIterable[bytes], self._inner):
                yield part

    async def aclose(self) -> None:
        with _translated():
            await self._inner.aclose()


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


def _proxy(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for a URL."""
    proxies = urllib.request.getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or urllib.request.proxy_bypass(url.host):
        return None
    return found if "://" in found else f"http://{found}"
