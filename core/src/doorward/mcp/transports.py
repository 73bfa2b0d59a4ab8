"""Serving a gateway over stdio or streamable HTTP until the client goes or the process is told to end."""

from __future__ import annotations

import ipaddress
from typing import Any

from doorward.errors import ConfigError
from doorward.gateway import Gateway
from doorward.mcp.server import build


async def serve_stdio(gate: Gateway) -> None:
    """Serve the one client at our standard input and output; ends when it closes them."""
    from doorward.mcp.stdio import streams

    server = build(gate)
    async with streams() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_http(gate: Gateway, host: str, port: int) -> None:
    """Serve any number of clients by streamable HTTP.

    Raises: ConfigError for an address that others can reach: there is no client authentication yet.
    """
    if not loopback(host):
        raise ConfigError(
            f"serving on {host} would let anyone who reaches it run programs with your credentials",
            place="[http] host",
            hint="Bind to 127.0.0.1, behind a proxy that authenticates its clients.",
        )
    import uvicorn

    app: Any = build(gate).streamable_http_app(streamable_http_path=gate.config.http.path, host=host)
    settings = uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=3)
    await uvicorn.Server(settings).serve()


def loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
