"""All tools of the MCP server: Doorward's own, the direct tools, and those of plugins. Where two have one name, the
first one counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

import mcp_types as t
from doorward import DoorwardError, Gateway, principal_of
from doorward.serving import told

from doorward_mcp_server.direct_tools import DirectTools
from doorward_mcp_server.output import Output
from doorward_mcp_server.plugin_tools import Additions, PluginTools
from doorward_mcp_server.suspended_calls import SuspendableCall, SuspendedCalls
from doorward_mcp_server.tool import Caller, OwnTool
from doorward_mcp_server.tools import RESUME_RUN, TOOLS


class ToolMaker(Protocol):
    """One of the origins of tools."""

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """The tools of a principal, always in the same order: clients cache the list."""
        ...

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """The handler of a tool; `None` if the principal has no tool of this name from here."""
        ...


class Tools:
    """The tools of a gateway, and their calls that wait for answers of clients."""

    def __init__(self, gate: Gateway, additions: Additions) -> None:
        gate.exposed.reserve(tool.name for tool in TOOLS)
        self.suspended = SuspendedCalls(gate.limits.asking, gate.process)
        output = Output(gate)
        self._own = OwnTools(gate, self.suspended, output)
        self._additions = additions
        self._makers: tuple[ToolMaker, ...] = (
            self._own,
            DirectTools(gate, self.suspended, output),
            PluginTools(additions),
        )

    async def listed(self, principal: str) -> list[t.Tool]:
        """The tools of a principal, in the order of their origins."""
        found: dict[str, t.Tool] = {}
        for maker in self._makers:
            for tool in await maker.listed(principal):
                found.setdefault(tool.name, tool)
        return list(found.values())

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """The input schema of a tool that may take arguments from headers, too (2026-07-28, `x-mcp-header`). Only tools
        of plugins do."""
        raw = None if name in self._own.tools else self._additions.tools().get(name)
        return raw.tool.input_schema if raw else None

    async def call(self, ctx: Any, params: t.CallToolRequestParams) -> Any:
        """The answer of a tool, or what it asks the client. Errors are answers, too, for the agent to read."""
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
    """The tools of `TOOLS` that belong to the surface of a gateway."""

    def __init__(self, gate: Gateway, suspended: SuspendedCalls, output: Output) -> None:
        self._gate, self._suspended, self._output = gate, suspended, output

    @cached_property
    def tools(self) -> Mapping[str, tuple[OwnTool, t.Tool]]:
        """The tools by their names, each also as clients see it, whether they are offered now or not. Found when first
        needed: they say what the executors run, so these are imported for it."""
        surface = self._gate.config.surface
        return {tool.name: (tool, shown) for tool in TOOLS if (shown := tool.on(surface, self._gate)) is not None}

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """See `ToolMaker.listed`."""
        return [shown for tool, shown in self.tools.values() if tool.offered(self._gate)]

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """See `ToolMaker.find`."""
        found = self.tools.get(name)
        return partial(self._call, *found) if found is not None and found[0].offered(self._gate) else None

    async def _call(self, tool: OwnTool, shown: t.Tool, ctx: Any, params: t.CallToolRequestParams) -> Any:
        arguments, principal = tool.checked(params.arguments or {}, shown), principal_of(ctx)
        form = self._output.form(ctx)

        async def work(tool: OwnTool, arguments: Mapping[str, Any], client: SuspendableCall) -> t.CallToolResult:
            return await tool.call(arguments, Caller(self._gate, principal, client, form))

        async def resume(run: str, client: SuspendableCall) -> t.CallToolResult:
            return await work(RESUME_RUN, {"run": run}, client)

        return await self._suspended.call(ctx, params.request_state, partial(work, tool, arguments), resume)


def _refused(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=text)], is_error=True)
