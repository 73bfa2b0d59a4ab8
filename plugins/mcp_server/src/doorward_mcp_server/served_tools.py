"""All tools of a server: Doorward's own, the exposed functions, and those of plugins. Of two with one name the first is
meant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import mcp_types as t
from doorward import DoorwardError, Gateway, principal_of
from doorward.serving import told

from doorward_mcp_server.direct_tools import DirectTools
from doorward_mcp_server.plugin_tools import Additions, PluginTools
from doorward_mcp_server.suspended_calls import SuspendedCalls
from doorward_mcp_server.tool import Caller, OwnTool
from doorward_mcp_server.tools import TOOLS


class ToolMaker(Protocol):
    """Some of the tools."""

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """Those of a principal, in an order that never changes: clients cache by it."""
        ...

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """What answers the calls of a tool; nothing if the principal has none of that name from here."""
        ...


class Tools:
    """The tools of a gateway, and the calls of them that wait for their clients."""

    def __init__(self, gate: Gateway, additions: Additions) -> None:
        gate.exposed.reserve(tool.name for tool in TOOLS)
        self.parked = SuspendedCalls(gate.limits.asking)
        self._own = OwnTools(gate, self.parked)
        self._additions = additions
        self._makers: tuple[ToolMaker, ...] = (self._own, DirectTools(gate, self.parked), PluginTools(additions))

    async def listed(self, principal: str) -> list[t.Tool]:
        """Those of a principal, each maker's in the order of the maker."""
        found: dict[str, t.Tool] = {}
        for maker in self._makers:
            for tool in await maker.listed(principal):
                found.setdefault(tool.name, tool)
        return list(found.values())

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """What a tool takes that may want arguments in headers too (2026-07-28, `x-mcp-header`): none but those of
        plugins does."""
        raw = None if name in self._own.tools else self._additions.tools().get(name)
        return raw.tool.input_schema if raw else None

    async def call(self, ctx: Any, params: t.CallToolRequestParams) -> Any:
        """The answer of a tool, or what it asks. What goes wrong is an answer too, for the agent to read."""
        principal = principal_of(ctx)
        try:
            for maker in self._makers:
                if (answer := maker.find(params.name, principal)) is not None:
                    return await answer(ctx, params)
            there = ", ".join(tool.name for tool in await self.listed(principal))
            return _refused(f"There is no tool {params.name!r}. There are: {there}.")
        except DoorwardError as error:
            return _refused(told(error))


class OwnTools:
    """Those of `TOOLS` that a gateway has on its surface."""

    def __init__(self, gate: Gateway, parked: SuspendedCalls) -> None:
        self._gate, self._parked = gate, parked
        surface = gate.config.surface
        self.tools = {tool.name: (tool, shown) for tool in TOOLS if (shown := tool.on(surface, gate)) is not None}
        self._ahead: asyncio.Future[Any] | None = None

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """See `ToolMaker.listed`."""
        if self._ahead is None:  # who lists will call: the first call need not wait for what checks it
            self._ahead = asyncio.get_running_loop().run_in_executor(None, import_module, "jsonschema_rs")
        return [shown for _, shown in self.tools.values()]

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """See `ToolMaker.find`."""
        return partial(self._call, self.tools[name][0]) if name in self.tools else None

    async def _call(self, tool: OwnTool, ctx: Any, params: t.CallToolRequestParams) -> Any:
        arguments, principal = tool.checked(params.arguments or {}), principal_of(ctx)
        return await self._parked.call(
            ctx, params.request_state, lambda client: tool.call(arguments, Caller(self._gate, principal, client))
        )


def _refused(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=text)], is_error=True)
