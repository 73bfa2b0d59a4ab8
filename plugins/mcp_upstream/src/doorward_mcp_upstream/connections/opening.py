"""Opening a session: the transport, the handshake, and the check that we have not reached ourselves."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

import anyio
import httpx2
from doorward import DoorwardError, ServerContext

from doorward_mcp_upstream.connections import http
from doorward_mcp_upstream.connections.connection import Connection
from doorward_mcp_upstream.connections.container import contained
from doorward_mcp_upstream.connections.environment import NESTED_VARIABLE
from doorward_mcp_upstream.connections.flights import Flights
from doorward_mcp_upstream.connections.pace import Pace
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.sse import sse
from doorward_mcp_upstream.connections.stderr import StderrLog
from doorward_mcp_upstream.connections.stdio import stdio
from doorward_mcp_upstream.connections.troubles import Trouble, root
from doorward_mcp_upstream.connections.wire import Wire

_OWN_NAME = "doorward"
"""The name of Doorward's own MCP server."""
_OLDER_ERA = "2025-11-25"
"""What is spoken first by a given wire: it goes both ways, and only in the older era do servers ask within a call."""
_START_IT_BY_HAND = (
    "Start its `command` by hand, in the same folder, and read what it says. It gets PATH, HOME and the like, and what "
    "`env` names, but nothing else of the environment."
)


@contextlib.asynccontextmanager
async def opened(
    transport: Literal["stdio", "http", "sse", "given"],
    context: ServerContext[MCPSettings],
    log: StderrLog,
    flights: Flights,
    pace: Pace,
    changed: Callable[[], None],
    era: str,
    given: Callable[[], AbstractAsyncContextManager[Wire]] | None = None,
) -> AsyncIterator[Connection]:
    """A session, open for as long as its owner stays in this block.

    Raises: any exception, perhaps within exception groups; see `explained`.
    """
    if given is not None:
        wired, era = given(), _OLDER_ERA
    elif transport == "stdio":
        _refuse_nested(context)
        wired = (contained if context.settings.image else stdio)(context, log)
    else:
        wired = (http.streamable if transport == "http" else sse)(context, pace)
    async with wired as wire:
        connection = Connection(context, wire, flights, changed)
        async with connection.session:
            try:
                await connection.agree(era)
            except Trouble as trouble:
                if trouble.gone and (why := await wire.reason()):
                    trouble.message += f": {why}"
                    trouble.hint = trouble.hint or (_START_IT_BY_HAND if context.settings.command else "")
                raise
            _refuse_ourselves(context, connection)
            async with anyio.create_task_group() as group:
                group.start_soon(connection.subscribe)
                yield connection
                group.cancel_scope.cancel()


def _refuse_nested(context: ServerContext[MCPSettings]) -> None:
    """Refuse to start a server if Doorward has started us: it might start Doorward again, and so on for ever."""
    if os.environ.get(NESTED_VARIABLE) and not context.settings.allow_self:
        raise Trouble(
            f"this Doorward was itself started by Doorward ({NESTED_VARIABLE} is set), and starts no servers",
            f"If that is meant, set allow_self = true in [servers.{context.name}].",
            sent=False,
        )


def _refuse_ourselves(context: ServerContext[MCPSettings], connection: Connection) -> None:
    if connection.server.get("name") == _OWN_NAME and not context.settings.allow_self:
        raise Trouble(
            "it is Doorward itself: a server that leads back to where one comes from",
            f"Remove [servers.{context.name}], or set allow_self = true in it.",
            sent=False,
        )


def explained(error: BaseException, context: ServerContext[MCPSettings]) -> Exception:
    """The meaning of an error that ended a session, or its opening: a Trouble, or the DoorwardError itself."""
    found = root(error)
    if isinstance(found, (Trouble, DoorwardError)):
        return found
    if isinstance(found, httpx2.HTTPStatusError):
        return http.refused(context.name, found.response)
    if isinstance(found, httpx2.HTTPError):
        return http.unreachable(found, context.settings.url or "")
    return Trouble(f"it cannot be reached: {type(found).__name__}: {' '.join(str(found).split())[:300]}", sent=False)
