"""All tools of the MCP server: those for agents, the direct tools, and those of plugins that need MCP itself. Where two
have one name, the first one counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import mcp_types as t
from doorward import LOCAL, AgentTool, DoorwardError, Gateway, ToolCaller
from doorward.serving import principal_of, told

from doorward_mcp_server.direct_tools import DirectTools
from doorward_mcp_server.exposed import ExposedFunctions
from doorward_mcp_server.languages import ADAPTED
from doorward_mcp_server.output import Output
from doorward_mcp_server.plugin_tools import Additions, PluginTools
from doorward_mcp_server.suspended_calls import SuspendableCall, SuspendedCalls
from doorward_mcp_server.tool import ServedTool, listed
from doorward_mcp_server.tools import TOOLS


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

    def __init__(self, gate: Gateway, additions: Additions, key: bytes) -> None:
        tools = tools_of(gate)
        self.exposed = ExposedFunctions(gate, tools)
        resuming = next((name for name, (tool, _) in tools.items() if tool.resumes), "")
        self.suspended = SuspendedCalls(gate.limits.asking, gate.process, resuming, key)
        output = Output(gate)
        self._own = AgentTools(gate, tools, self.suspended, output)
        self.come_and_go = any(tool.offered is not AgentTool.offered for tool, _ in tools.values() if tool not in TOOLS)
        """Whether a plugin may give a principal other tools from one moment to the next."""
        self._additions = additions
        self._makers: tuple[ToolMaker, ...] = (
            self._own,
            DirectTools(gate, self.exposed, self.suspended, output),
            PluginTools(additions),
        )

    def offered(self, principal: str) -> list[str]:
        """The names of the tools for agents that a principal has now."""
        return self._own.offered(principal)

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
        own = self._own.tools().get(name)
        raw = self._additions.tools().get(name) if own is None or own.shown is None else None
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


def tools_of(gate: Gateway) -> dict[str, tuple[AgentTool, str]]:
    """The tools for agents by their names, in the order in which clients see them, and whose they are."""

    def of_plugin(answer: Any) -> list[tuple[AgentTool, str]]:
        whose = str(getattr(answer, "plugin", "its plugin"))
        return [(tool, whose) for tool in answer if tool.input_schema]

    of_plugins = [tool for given in gate.plugins.each("agent_tools", of_plugin) for tool in given]
    found: dict[str, tuple[AgentTool, str]] = {}
    for tool, whose in (*((tool, "Doorward") for tool in TOOLS), *of_plugins):
        found.setdefault(tool.name, (tool, whose))
    return found


class AgentTools:
    """The tools for agents, as far as they belong to the surface of a gateway."""

    def __init__(
        self, gate: Gateway, found: Mapping[str, tuple[AgentTool, str]], suspended: SuspendedCalls, output: Output
    ) -> None:
        self._gate, self._found, self._suspended, self._output = gate, found, suspended, output
        self._made: dict[str, dict[str, ServedTool]] = {}

    def tools(self, principal: str = LOCAL) -> Mapping[str, ServedTool]:
        """The tools on the surface of a principal by their names, whether they are offered now or not. Made when first
        needed: they say what the executors run, so these are imported for it."""
        if made := self._made.get(surface := self._gate.surface(principal)):
            return made
        made = self._made[surface] = {}
        for name, (tool, whose) in self._found.items():
            shown = listed(tool, surface, self._gate.outcome_parts)
            if shown is not None and name in ADAPTED:
                shown = ADAPTED[name](self._gate, shown, surface)
            made[name] = ServedTool(tool, whose, shown)
        return made

    def offered(self, principal: str) -> list[str]:
        """The names of the tools that a principal has now."""
        return [name for name, tool in self.tools(principal).items() if tool.offered(self._gate, principal)]

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """See `ToolMaker.listed`."""
        tools = self.tools(principal)
        return [shown for name in self.offered(principal) if (shown := tools[name].shown)]

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """See `ToolMaker.find`."""
        found = self.tools(principal).get(name)
        return partial(self._call, found) if found is not None and found.offered(self._gate, principal) else None

    async def _call(self, tool: ServedTool, ctx: Any, params: t.CallToolRequestParams) -> Any:
        arguments, principal = tool.checked(params.arguments or {}), principal_of(ctx)
        form = self._output.form(ctx)

        async def work(tool: ServedTool, arguments: Mapping[str, Any], client: SuspendableCall) -> t.CallToolResult:
            return await tool.call(arguments, ToolCaller(self._gate, principal, client, form))

        async def resume(run: str, client: SuspendableCall) -> t.CallToolResult:
            resuming = self.tools(principal)[self._suspended.resuming]
            return await work(resuming, {resuming.tool.resumes: run}, client)

        goes_on = resume if self._suspended.resuming else None
        return await self._suspended.call(ctx, params.request_state, partial(work, tool, arguments), goes_on)


def _refused(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=text)], is_error=True)
