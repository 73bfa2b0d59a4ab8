"""`doorward serve`: serves MCP clients over stdio or streamable HTTP."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click
from doorward import DoorwardError
from doorward_cli import Project, common, note, say

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.configuration import Loaded

    from doorward_mcp_server.stopping import Stopping
    from doorward_mcp_server.workers import Workers


class Serve(click.Command):
    """The command `serve`, which also gives `doctor` its checks of HTTP."""

    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """Who may come in over HTTP, and whether it can be served as it is configured."""
        from importlib.metadata import version

        from doorward_mcp_server.http.endpoint import Endpoint
        from doorward_mcp_server.output import TO_INSTALL, lacks_toon
        from doorward_mcp_server.settings import http_of

        yield f"mcp {version('mcp')}", True, ""
        if lacks_toon(gateway):
            yield "output: TOON is not installed, so answers are JSON", True, TO_INSTALL
        http = http_of(gateway.config)
        tokens = {name: len(settings.tokens) for name, settings in gateway.config.principals.items() if settings.tokens}
        verifiers = [found.plugin_name for found in gateway.plugins.hook.token_verifier.get_hookimpls()]
        who = [f"{(n := sum(tokens.values()))} token{'s' * (n > 1)} of {', '.join(tokens)}"] if tokens else []
        who += [f"access tokens of {http.oauth.issuer}"] if http.oauth else []
        who += [f"whom the plugin {name} lets in" for name in verifiers]
        endpoint = Endpoint(gateway.loaded, http.host, http.port)
        try:
            endpoint.check(authenticated=bool(who))
            endpoint.tls()
        except DoorwardError as error:
            yield f"HTTP: {error}", False, error.hint or ""
        else:
            told = "; ".join(who) or "whoever is on this machine, as `local`: no token is asked for"
            yield f"HTTP at {endpoint.url}: {told}", True, ""


@click.command(cls=Serve)
@common
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="stdio for the client that starts this; http for clients that connect.",
)
@click.option("--host", metavar="ADDRESS", help="Where to listen; [http] host if not given.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Where to listen; [http] port if not given. 0 is any free port."
)
@click.option(
    "--console",
    is_flag=True,
    help="Serve HTTP, with pages for people below /console; print a link that works once.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that serve HTTP together, at one address; for more than one core.",
)
@click.option("--endpoint", default="", metavar="NAME", help="Serve this part of the configuration alone.")
@click.option("--init", is_flag=True, help="First `doorward init --from-environment`, if there is no configuration.")
def serve(
    project: Project,
    transport: str,
    host: str | None,
    port: int | None,
    console: bool,
    workers: int,
    endpoint: str,
    init: bool,
) -> None:
    """Serve MCP clients until they go, or until told to end: SIGTERM has programs end first, within [http] grace."""
    gc.disable()  # until all is imported, as `doorward_cli.main` does
    if init:
        from doorward_cli import first_start

        for file in first_start(project):
            note(f"wrote {file}")
    transport, several = "http" if console else transport, None
    if workers > 1:
        if transport != "http":
            raise click.UsageError("--workers is for --transport http.")
        several = _workers(workers, _loaded(project, transport, host, port, console))
        several.supervise(lambda url: note(f"Serving MCP at {url} by {workers} workers"))
    run_server(_loaded(project, transport, host, port, console), transport, several, endpoint)


def run_server(loaded: Loaded, transport: str = "stdio", workers: Workers | None = None, endpoint: str = "") -> None:
    """Serve a configuration by "stdio" or "http", until the client goes or the process is told to end: what the command
    `serve` does. Raises: DoorwardError."""
    from doorward_mcp_server.stopping import Stopping

    stopping = Stopping()
    asyncio.run(stopping.serve(_serve(loaded, transport, stopping, workers, endpoint)))


def _loaded(project: Project, transport: str, host: str | None, port: int | None, console: bool) -> Loaded:
    given = {key: value for key, value in (("host", host), ("port", port)) if value not in (None, "")}
    options = {"http": given} if given and transport == "http" else {}
    if console:
        options["console"] = {"link": True}
    return project.load(serves=True, options=options or None)


def _workers(count: int, loaded: Loaded) -> Workers:
    """So many workers, and the socket from which they accept. What they all need is imported before they are forked."""
    with _models_built_when_used():
        from doorward_mcp_server import transports
        from doorward_mcp_server.settings import http_of
        from doorward_mcp_server.workers import Workers

    http = http_of(loaded.config)
    return Workers(count, transports.listening(http.host, http.port))


async def _serve(loaded: Loaded, transport: str, stopping: Stopping, workers: Workers | None, endpoint: str) -> None:
    from doorward import Gateway, log

    for name, error in loaded.broken.items():
        log.warning("server_broken", server=name, why=str(error), hint=error.hint)
    async with Gateway.open(loaded) as gate:
        with _models_built_when_used():
            from doorward_mcp_server import transports
            from doorward_mcp_server.settings import http_of

        gc.freeze()
        gc.enable()
        if transport == "http":
            _raise_file_limit()
            http = http_of(loaded.config)
            await transports.serve_http(
                gate,
                http.host,
                http.port,
                ready=workers.serves if workers else lambda url: note(f"Serving MCP at {url}"),
                announce=lambda line: say(line, err=True),
                stopping=stopping,
                workers=workers,
                only=endpoint,
            )
            return
        if sys.stdin.isatty():
            note("Serving MCP on standard input and output: a client is meant to start this. Ctrl-C ends it.")
        await transports.serve_stdio(gate, stopping, endpoint)


@contextmanager
def _models_built_when_used() -> Iterator[None]:
    """Have models of pydantic that are defined here built when they are first used. The SDK has hundreds, of clients
    and of logins too; a server that starts needs a few, and all of them would take a tenth of the start."""
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]


MAX_OPEN_FILES = 2**16
"""Highest limit of open files that we set. Programs that we start inherit it, and some try every number below it."""


def _raise_file_limit() -> None:
    """Allow more open files: each connection is one, and the default of most systems is enough for few."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
