"""The source `embed`: the tools of an MCP server that is an object of this process."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

import anyio
from doorward import Function, ServerContext, ServerError, Settings
from doorward_mcp_upstream import MCP, SessionSettings
from pydantic import Field

if TYPE_CHECKING:
    from doorward_mcp_upstream import Wire

OBJECTS: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
"""The low-level servers of this process by their keys. Nothing in a configuration can name any other object."""

CLOSING_SECONDS = 2.0
"""Seconds that a server has to end by itself, once nobody is connected to it."""


class EmbedSettings(SessionSettings):
    """Which object it is: `wrap` says so."""

    object: str = Field(description="The key under which `doorward_embed.wrap` knows the server")

    command: ClassVar[Sequence[str]] = ()
    args: ClassVar[Sequence[str]] = ()
    cwd: ClassVar[str | None] = None
    url: ClassVar[str | None] = None
    image: ClassVar[str | None] = None
    is_started: ClassVar[bool] = False


class Embedded(MCP):
    """Functions from a server object. Its calls pass the same connection as those of any other server, in memory."""

    Settings: ClassVar[type[Settings]] = EmbedSettings

    def __init__(self, server: ServerContext[EmbedSettings]) -> None:
        self._name, self._key = server.name, server.settings.object
        super().__init__(cast(Any, server), self._wired)

    @staticmethod
    def upstreams(settings: Any, function: Function | None) -> list[str]:
        """See `doorward.abilities.TellsUpstreams`: it is no other place than this process."""
        return [f"embed:{settings.object}"]

    @asynccontextmanager
    async def _wired(self) -> AsyncIterator[Wire]:
        """A connection to the server, which runs as long as this is open. Raises: ServerError."""
        from doorward_mcp_upstream import Wire
        from mcp.shared.memory import create_client_server_memory_streams

        server = OBJECTS.get(self._key)
        if server is None:
            hint = f"Only `doorward_embed.wrap` makes such servers. Remove [servers.{self._name}], or wrap the server."
            raise ServerError(f"{self._name}: there is no such server in this process", hint=hint)
        over = anyio.Event()

        async def run(read: Any, write: Any) -> None:
            try:
                await server.run(read, write, server.create_initialization_options())
            finally:
                over.set()

        async with create_client_server_memory_streams() as ((read, write), theirs), anyio.create_task_group() as group:
            group.start_soon(run, *theirs)
            try:
                yield Wire(read, write)
            finally:
                with anyio.CancelScope(shield=True), suppress(anyio.ClosedResourceError):
                    await write.aclose()
                    with anyio.move_on_after(CLOSING_SECONDS):
                        await over.wait()
                group.cancel_scope.cancel()
