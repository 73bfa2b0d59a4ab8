"""The transports of a gateway, stdio and streamable HTTP, until the client goes or the process is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
from doorward import LOCAL, ConfigError, Gateway, Principal
from doorward.serving import RawPage, RawSite

from doorward_mcp_server.http import trace_context
from doorward_mcp_server.other_machines import shared_key
from doorward_mcp_server.server import serving
from doorward_mcp_server.settings import http_of

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.requests import Request
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from doorward_mcp_server.http.connections import Connections
    from doorward_mcp_server.http.endpoint import Endpoint
    from doorward_mcp_server.http.peers import Peers
    from doorward_mcp_server.http.requests import Requests
    from doorward_mcp_server.http.siblings import Siblings
    from doorward_mcp_server.shutdown import Shutdown
    from doorward_mcp_server.stopping import Stopping
    from doorward_mcp_server.tokens.verifiers import Verifiers
    from doorward_mcp_server.workers import Workers

ANSWER_SECONDS = 1.0
"""Seconds in which the answers of the last programs are sent, if the grace time has no more."""


async def serve_stdio(gate: Gateway, stopping: Stopping | None = None, endpoint: str = "") -> None:
    """Serve the one client at our standard input and output, until it closes them: then it is gone, and what runs for
    it is ended at once. `stopping` learns how to let what runs come to its end. By an `endpoint` it gets that alone."""
    from doorward_mcp_server.shutdown import Shutdown
    from doorward_mcp_server.stdio import ByEndpoint, streams

    local = checked_endpoint(gate, endpoint)
    shutdown = Shutdown()
    if stopping is not None:
        stopping.drain = partial(_drained, gate, shutdown)
    async with serving(gate) as server, streams() as (incoming, outgoing):
        server.middleware.insert(0, shutdown)
        outgoing = shutdown.writes_to(outgoing)
        incoming = ByEndpoint(incoming, local) if endpoint else incoming
        running = asyncio.ensure_future(server.run(incoming, outgoing, server.create_initialization_options()))
        try:
            await asyncio.shield(running)
        finally:
            with anyio.CancelScope(shield=True):
                shutdown.end()
                await shutdown.answered(ANSWER_SECONDS)
                running.cancel()
                await asyncio.wait([running])


def checked_endpoint(gate: Gateway, endpoint: str) -> Principal:
    """`local`, by an endpoint if one is named. Raises: ConfigError for one that is not there, or not for `local`."""
    if not endpoint:
        return Principal(LOCAL)
    if (local := gate.principals.by_endpoint(LOCAL, endpoint)) is None:
        there = ", ".join(name for name in gate.principals.endpoints if gate.principals.by_endpoint(LOCAL, name))
        raise ConfigError(
            f"there is no endpoint {endpoint[:100]!r} for `local`",
            place="[endpoints]",
            hint=f"There are: {there or 'none'}.",
        )
    return local


async def serve_http(
    gate: Gateway,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None] = lambda url: None,
    announce: Callable[[str], None] = lambda line: None,
    stopping: Stopping | None = None,
    workers: Workers | None = None,
    only: str = "",
) -> None:
    """Serve any number of clients over streamable HTTP, until cancelled. `ready` gets the URL, `announce` what sites
    of plugins say of theirs; port 0 is any free one.
    `stopping` learns how to let what runs come to its end. This process is one of `workers`, if there are any. `only`
    is the endpoint by which everybody comes, if it is not empty.

    Raises: ConfigError for an address that others can reach without a token, or without TLS, or that is taken;
    PluginError.
    """
    import uvicorn

    from doorward_mcp_server.changes import ChangeNotifier
    from doorward_mcp_server.http.connections import Connection, Connections
    from doorward_mcp_server.http.endpoint import Endpoint
    from doorward_mcp_server.http.siblings import Siblings
    from doorward_mcp_server.shutdown import Shutdown
    from doorward_mcp_server.tokens.verifiers import Verifiers

    if only and only not in gate.principals.endpoints:
        checked_endpoint(gate, only)
    http = http_of(gate.config)
    verifiers = Verifiers(gate)
    endpoint = Endpoint(gate.loaded, host, port)
    endpoint.check(authenticated=verifiers.wanted())
    tls = endpoint.tls()
    changes, shutdown = ChangeNotifier(), Shutdown()
    if stopping is not None:
        stopping.drain = partial(_drained, gate, shutdown)
    with contextlib.ExitStack() as open_:
        listener = open_.enter_context(listening(host, port) if workers is None else workers.listener)
        peers = await _peers(gate, http.peer) if http.peer else None
        siblings = Siblings(gate.process, peers) if workers is not None or peers is not None else None
        endpoint = Endpoint(gate.loaded, host, listener.getsockname()[1])
        async with (
            serving(gate, changes) as server,
            contextlib.nullcontext() if peers is None else peers.announced(),
        ):
            server.middleware[:0] = [_by_http, shutdown]
            added = [page for answer in gate.plugins.each("http_pages", list) for page in answer]
            if workers is not None:
                _check_shared(gate, added)
            app, requests = application(
                server, endpoint, verifiers, changes.forget, gate, added, siblings, workers, only
            )
            settings = uvicorn.Config(
                app, ws="none", log_config=None, access_log=False, proxy_headers=False, server_header=False,
                timeout_keep_alive=http.idle_timeout, timeout_graceful_shutdown=3,
            )  # fmt: skip
            web = uvicorn.Server(settings)
            web.capture_signals = contextlib.nullcontext  # type: ignore  # our caller handles signals, and cancels us

            def connection() -> Connection:
                return Connection(settings, web.server_state, web.lifespan.state, http=http)

            connections, by_siblings = Connections(connection, http, tls), Connections(connection, http, None)
            beside: list[asyncio.Future[None]] = []
            running = asyncio.ensure_future(web.serve(sockets=[]))  # `Connections` accepts them
            try:
                while not (web.started or running.done()):  # noqa: ASYNC110  # uvicorn has no event for it
                    await asyncio.sleep(0)
                base = endpoint.local.removesuffix(http.path)  # a site that refuses to open is told before we serve
                told = [site.opened(base + site.path) for site in added if isinstance(site, RawSite)]
                beside += (
                    asyncio.ensure_future(connections.accept(listener)),
                    asyncio.ensure_future(requests.sessions.watch()),
                )
                if siblings is not None:
                    if stopping is not None and workers is not None:
                        stopping.drain = partial(_leave_to_others, beside[0], connections, requests, stopping.drain)
                    beside.append(asyncio.ensure_future(by_siblings.accept(open_.enter_context(siblings.listening()))))
                is_first = workers is None or not workers.live()
                ready(
                    endpoint.local
                    if endpoint.local == endpoint.url
                    else f"{endpoint.local} (for clients: {endpoint.url})"
                )
                for line in filter(None, told if is_first else ()):
                    announce(line)
                await asyncio.shield(running)
            finally:
                with anyio.CancelScope(shield=True):
                    for task in beside:
                        task.cancel()
                    listener.close()
                    changes.listen.close()
                    shutdown.end()
                    await requests.end()
                    connections.close(busy=False)
                    by_siblings.close(busy=False)
                    web.should_exit = True
                    await running
                    connections.close()
                    by_siblings.close()


async def _peers(gate: Gateway, url: str) -> Peers:
    """The gateways on other machines. Raises: ConfigError, StateError."""
    from doorward_mcp_server.http.peers import Peers, check_peer

    check_peer(url, distributed=getattr(gate.store, "distributed", False), sealed=gate.config.vault_keys[0] is not None)
    key = await shared_key(gate)
    assert key is not None
    return Peers(gate.store, key, gate.process, url)


def application(
    server: Server[Any],
    endpoint: Endpoint,
    verifiers: Verifiers,
    forget: Callable[[str], None],
    gate: Gateway,
    added: Sequence[RawPage | RawSite] = (),
    siblings: Siblings | None = None,
    workers: Workers | None = None,
    only: str = "",
) -> tuple[Any, Requests]:
    """The ASGI application: the SDK's, behind our entrance and the limits of requests. `forget` gets the id of each
    session that ends; `added` are the paths of plugins."""
    from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.middleware.cors import CORSMiddleware

    from doorward_mcp_server.http.entrance import Entrance
    from doorward_mcp_server.http.from_peers import FromPeers
    from doorward_mcp_server.http.requests import Requests

    http = endpoint.http
    verifiers.serve_at(endpoint.url)
    metadata, routes = None, []
    if http.oauth:
        urls: Any = {"issuer_url": http.oauth.issuer, "resource_server_url": endpoint.url}
        auth = AuthSettings(**urls, validate_token_resource=False)  # the verifier checks the audience of a token
        assert auth.resource_server_url is not None
        metadata = build_resource_metadata_url(auth.resource_server_url)
        routes = create_protected_resource_routes(
            auth.resource_server_url, [auth.issuer_url], http.oauth.scopes or None, "Doorward"
        )
        routes.append(endpoint_metadata(endpoint.url, http.oauth.issuer, http.oauth.scopes))
    app = server.streamable_http_app(
        streamable_http_path=http.path,
        # The entrance checks Host and Origin.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=routes,
    )
    requests = Requests(app, http, forget, siblings)
    pages = {page.path: page for page in added if isinstance(page, RawPage)}
    sites = [site for site in added if isinstance(site, RawSite)]
    guarded: ASGIApp = Entrance(
        requests, endpoint, verifiers, metadata, lambda: gate.readiness.why_not, pages, sites,
        lambda: "ok" if workers is None else f"ok, {workers.live()} of {workers.count} workers",
        gate.principals.by_endpoint, only,
    )  # fmt: skip
    if siblings is not None and siblings.peers is not None:
        guarded = FromPeers(guarded, siblings.peers, siblings)
    if not http.origins:
        return guarded, requests
    for_pages = CORSMiddleware(
        guarded,
        allow_origins=http.origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id", "WWW-Authenticate", "Doorward-Run"],
    )
    return for_pages, requests


def endpoint_metadata(url: str, issuer: str, scopes: list[str]) -> Route:
    """The route of the metadata of endpoints (RFC 9728 section 3.1). It tells the same of each name, whether there is
    such an endpoint or not: who asks has shown no token yet."""
    from mcp.server.auth.handlers.metadata import ProtectedResourceMetadataHandler
    from mcp.server.auth.routes import build_resource_metadata_url, cors_middleware
    from mcp.shared.auth import ProtectedResourceMetadata
    from pydantic import AnyHttpUrl
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    from doorward_mcp_server.http.entrance import ENDPOINT_NAME

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        if not re.fullmatch(ENDPOINT_NAME, name):
            return PlainTextResponse("Not Found", 404)
        metadata = ProtectedResourceMetadata(
            resource=AnyHttpUrl(f"{url}/{name}"),
            authorization_servers=[AnyHttpUrl(issuer)],
            scopes_supported=scopes or None,
            resource_name="Doorward",
        )
        return await ProtectedResourceMetadataHandler(metadata).handle(request)

    path = urlsplit(str(build_resource_metadata_url(AnyHttpUrl(url)))).path
    methods = ["GET", "OPTIONS"]
    return Route(f"{path}/{{name}}", endpoint=cors_middleware(answer, methods), methods=methods)


PARTING_SECONDS = 0.5
"""Seconds in which a worker that ends still takes what comes by the connections that it has."""

SUSPENDING_SECONDS = 2.0
"""Seconds before the end of the time of grace, in which calls end of runs that are suspended then."""


async def _drained(gate: Gateway, shutdown: Shutdown) -> None:
    """Let programs end, and their answers be sent, within `[http] grace` altogether; what still runs shortly before is
    suspended, and can be resumed. See `Readiness.drain`."""
    grace = http_of(gate.config).grace
    until = time.monotonic() + grace
    left = await gate.readiness.drain(max(grace / 2, grace - SUSPENDING_SECONDS))
    if left:
        gate.suspend_runs("this server is being stopped")
        left = await gate.readiness.drain(until - time.monotonic())
    if not left:
        await shutdown.answered(max(ANSWER_SECONDS, until - time.monotonic()))


async def _leave_to_others(
    accepting: asyncio.Future[None],
    connections: Connections,
    requests: Requests,
    drain: Callable[[], Awaitable[object]] | None,
) -> None:
    """Drain one of several workers: those that stay get what comes from now on. Its clients are told to come by another
    connection, and have a moment for what they are just sending."""
    accepting.cancel()
    requests.leaving = True
    await asyncio.sleep(PARTING_SECONDS)

    async def part() -> None:
        """End connections when they are not busy any more: an answer that had begun before could not say so."""
        while True:
            connections.close(busy=False)
            await asyncio.sleep(PARTING_SECONDS / 10)

    parting = asyncio.ensure_future(part())
    try:
        if drain is not None:
            await drain()
    finally:
        parting.cancel()


async def _by_http(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
    """Refuse messages without an HTTP request: they would pass for messages over stdio,
    which are always from `local`. Others are part of the trace that their request names."""
    if ctx.request is None:
        raise RuntimeError("the SDK gave a message without its request")
    headers = ctx.request.headers
    if trace_context.TRACEPARENT not in headers:
        return await call_next(ctx)
    with trace_context.traced_as(headers):
        return await call_next(ctx)


def _check_shared(gate: Gateway, added: Sequence[RawPage | RawSite]) -> None:
    """Raises: ConfigError for what several workers cannot serve."""
    if not gate.store.lasts:
        raise ConfigError(
            "workers share what they remember by a store, and this one is in the memory of one process",
            place="store",
            hint="Install doorward-store-sqlite, or set another `store`; or serve without --workers.",
        )
    if site := next((each for each in added if isinstance(each, RawSite) and not each.shared), None):
        raise ConfigError(
            f"who is signed in at {site.path} is known to one process only, and not to all workers",
            hint="Set a vault_key, with which the console's sessions are stored; or serve these pages by a process of "
            "their own, on another port, without --workers.",
        )


def listening(host: str, port: int) -> socket.socket:
    """The socket at an address. Raises: ConfigError."""
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
        # Without this, each answer waits 40 ms for an acknowledgement. asyncio sets it only for sockets that name their
        # protocol.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setblocking(False)
        return listener
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or os.strerror(error.errno or 0)}",
            place="[http] port",
            hint="Choose another with --port; 0 is any free one.",
        ) from None
