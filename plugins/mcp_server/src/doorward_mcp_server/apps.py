"""Interfaces of direct tools (MCP Apps, the extension `io.modelcontextprotocol/ui`), for clients that show such: pages
of the servers that the operator trusts with it, under URIs that begin with the server's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as t
from doorward import DoorwardError, Function, Gateway
from doorward.abilities import TellsApps
from doorward.values import in_a_line
from mcp import MCPError

from doorward_mcp_server.exposed import ExposedFunctions

EXTENSION = "io.modelcontextprotocol/ui"

MIME = "text/html;profile=mcp-app"

_SCHEME = "ui://"


class Apps:
    """The interfaces of exposed functions."""

    def __init__(self, gate: Gateway, exposed: ExposedFunctions) -> None:
        self._gate, self._exposed = gate, exposed

    def there(self) -> bool:
        """Whether the operator allows any."""
        return any(getattr(self._settings(module), "apps", False) for module, _ in self._gate.servers.exposing())

    def shown(self, tools: Sequence[t.Tool], principal: str) -> list[t.Tool]:
        """The tools as clients with interfaces get them. All are for the model alone: a page could call any other tool
        by the connection on which it was read."""
        exposed = self._exposed.tools(principal)
        return [self._shown(tool, exposed.get(tool.name)) for tool in tools]

    async def read(self, uri: str, principal: str) -> t.ReadResourceResult | None:
        """The page of a tool that a principal has; `None` if no such tool has one. Raises: MCPError if it cannot be
        read, or is not what it ought to be."""
        if not uri.startswith(_SCHEME):
            return None
        function = next((each for each in self._exposed.tools(principal).values() if self._uri(each) == uri), None)
        if function is None:
            return None
        theirs = _SCHEME + uri.removeprefix(f"{_SCHEME}{function.server}/")
        try:
            page = await self._gate.call(f"{function.server}.apps/read", {"uri": theirs}, principal=principal)
        except DoorwardError as error:
            raise MCPError(t.INTERNAL_ERROR, in_a_line(error)) from None
        ui = {"csp": page["csp"]} | ({"prefersBorder": page["border"]} if "border" in page else {})
        content = t.TextResourceContents(uri=uri, mime_type=MIME, text=page["html"], _meta={"ui": ui})
        return t.ReadResourceResult(contents=[content])

    def _shown(self, tool: t.Tool, function: Function | None) -> t.Tool:
        ui: dict[str, Any] = {"visibility": ["model"]}
        if function is not None and (uri := self._uri(function)):
            ui["resourceUri"] = uri
        own = tool.meta or {}  # a plugin's tool may have an interface of the plugin's
        return tool.model_copy(update={"meta": {**own, "ui": ui | own.get("ui", {})}})

    def _uri(self, function: Function) -> str:
        """Our URI of the interface of a function; "" if it has none."""
        driver, settings = self._driver(function.server), self._settings(function.server)
        theirs = driver.app(settings, function) if settings is not None and isinstance(driver, TellsApps) else ""
        return f"{_SCHEME}{function.server}/{theirs.removeprefix(_SCHEME)}" if theirs else ""

    def _driver(self, module: str) -> object:
        servers = self._gate.servers
        name = servers.modules.get(module)
        return self._gate.plugins.driver("source", servers.configured[name].settings.source) if name else None

    def _settings(self, module: str) -> Any:
        """The settings of the source of a server; `None` if it has none that can be used."""
        try:
            return self._gate.servers.settings(self._gate.servers.modules[module])[0]
        except (DoorwardError, KeyError):
            return None


def declared(ctx: Any) -> bool:
    """Whether the client of a request shows pages of our kind."""
    client = ctx.session.client_capabilities
    settings = (client.extensions or {}).get(EXTENSION) if client is not None else None
    return settings is not None and MIME in (settings.get("mimeTypes") or ())
