"""Serving a gateway over stdio or streamable HTTP until the client goes or the process is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Any

import anyio

from doorward.errors import ConfigError
from doorward.gateway import Gateway
from doorward.mcp.server import serving


async def serve_stdio(gate: Gateway) -> None:
    """Serve the one client at our standard input and output; ends when it closes them."""
    from doorward.mcp.stdio import streams

    async with serving(gate) as server, streams() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(gate: Gateway, host: str, port: int, *, ready: Callable[[str], None] = lambda url: None) -> None:
    """Serve any number of clients by streamable HTTP, until cancelled. `ready` is told the URL (port 0: any free one).

    Raises: ConfigError for an address that others can reach (there is no client authentication yet), or that is taken.
    """
    if not loopback(host):
        raise ConfigError(
            f"serving on {host} would let anyone who reaches it run programs with your credentials",
            place="[http] host",
            hint="Bind to 127.0.0.1, behind a proxy that authenticates its clients.",
        )
    import uvicorn

    async with serving(gate) as server:
        app: Any = server.streamable_http_app(streamable_http_path=gate.config.http.path, host=host)
        web = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3))
        web.capture_signals = contextlib.nullcontext  # type: ignore  # signals are our caller's, who cancels us
        with _listening(host, port) as listener:
            running = asyncio.ensure_future(web.serve(sockets=[listener]))
            ready(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}{gate.config.http.path}")
            try:
                await asyncio.shield(running)
            finally:
                web.should_exit = True
                with anyio.CancelScope(shield=True):
                    await running


def _listening(host: str, port: int) -> socket.socket:
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # asyncio would do so only where the socket names its protocol; without it each answer waits 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}",
            place="[http] port",
            hint="Choose another with --port; 0 is any free one.",
        ) from None


def loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
