"""Tells clients, in both eras of the protocol, when a compile has changed the functions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import anyio
from doorward import Gateway
from doorward.serving import principal_of
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)

POLL_SECONDS = 1.0
"""Seconds between two looks at the catalog, which another process may have changed."""

_MAX_SESSIONS = 1000
"""Sessions of the older era that are told of changes."""


class ChangeNotifier:
    """Tells the clients that want to know. `listen` serves the streams that newer clients open
    (`subscriptions/listen`). A client of the older era is told on the connection on which it has listed something."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        self._sessions: OrderedDict[Any, Any] = OrderedDict()
        self._offered: OrderedDict[str, Sequence[str]] = OrderedDict()
        self.offered: Callable[[str], Sequence[str]] = lambda principal: ()
        """The names of the tools that a principal has now, of those that come and go."""

    def remember(self, ctx: Any) -> None:
        """Tell this client of changes from now on: it has listed something."""
        if (principal := principal_of(ctx)) not in self._offered:
            self._offered[principal] = self.offered(principal)
            while len(self._offered) > _MAX_SESSIONS:
                self._offered.popitem(last=False)
        headers = getattr(ctx.request, "headers", None) or {}
        key = headers.get("mcp-session-id")
        if key not in self._sessions:
            self._sessions[key] = ctx.session
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)

    def forget(self, key: str) -> None:
        """Tell a session of HTTP nothing more: it has ended."""
        self._sessions.pop(key, None)

    async def watch(self, gate: Gateway) -> None:
        """Tell of each change of the catalog, of the configured servers and of the tools that clients' principals have,
        until cancelled."""
        seen = gate.catalog.version(), gate.servers.revision
        while True:
            await anyio.sleep(POLL_SECONDS)
            now = gate.catalog.version(), gate.servers.revision
            offered = {principal: self.offered(principal) for principal in self._offered}
            if now != seen or offered != self._offered:
                seen = now
                self._offered.update(offered)
                await self.tell(ToolsListChanged())
                await self.tell(ResourcesListChanged())

    async def tell(self, event: ServerEvent) -> None:
        """Tell every client of an event. Only `subscriptions/listen` tells of updated resources: which clients of the
        older era have subscribed to one, only the plugin knows that serves `resources/subscribe`."""
        await self._bus.publish(event)
        for session in list(self._sessions.values()):
            match event:
                case ToolsListChanged():
                    await session.send_tool_list_changed()
                case ResourcesListChanged():
                    await session.send_resource_list_changed()
                case PromptsListChanged():
                    await session.send_prompt_list_changed()


def advertise(server: Server[Any]) -> None:
    """Make the server declare, in the older era too, that it tells of changes: its HTTP transport lacks a setting."""
    options = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
    make = server.create_initialization_options
    server.create_initialization_options = lambda *_, **__: make(options)  # type: ignore[method-assign]
