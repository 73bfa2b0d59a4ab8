"""The direct tools: every exposed function of a server is a tool of its own, with input and output schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import mcp_types as t
from doorward import Client, Function, Gateway, Outcome
from doorward.deciding import ACCOUNT
from doorward.serving import principal_of
from doorward.values import effect
from doorward_text import compact_json, outcome_as_text

from doorward_mcp_server.exposed import ExposedFunctions
from doorward_mcp_server.output import Output, outcome_text
from doorward_mcp_server.suspended_calls import SuspendedCalls


class DirectTools:
    """Lists and calls the exposed functions. A call takes the same way as the call of a program."""

    def __init__(self, gate: Gateway, exposed: ExposedFunctions, suspended: SuspendedCalls, output: Output) -> None:
        self._gate, self._exposed, self._suspended, self._output = gate, exposed, suspended, output
        self._made: dict[str, tuple[Function, t.Tool]] = {}

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """The tools of a principal. Waits until all servers that expose functions are compiled."""
        if any(self._gate.servers.exposing()):
            await self._gate.ready()
        tools = self._exposed.tools(principal).items()
        return [self._with_account(self._once(name, function), function.server, principal) for name, function in tools]

    def _with_account(self, tool: t.Tool, server: str, principal: str) -> t.Tool:
        """The tool with an argument for the account, where a principal has several at its server."""
        accounts = self._gate.servers.accounts.get(server)
        if accounts is None or len(theirs := accounts.of(principal)) < 2:
            return tool
        properties = {**tool.input_schema.get("properties", {}), ACCOUNT: {"type": "string", "enum": theirs}}
        return tool.model_copy(update={"input_schema": {**tool.input_schema, "properties": properties}})

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """The handler of a tool, if the principal has that tool."""
        function = self._exposed.tools(principal).get(name)
        return partial(self._call, function) if function else None

    def _once(self, name: str, function: Function) -> t.Tool:
        """The tool of a function, which is made when it is first listed."""
        made = self._made.get(name)
        if made is None or made[0] is not function:
            made = self._made[name] = function, self._tool(name, function)
        return made[1]

    def _tool(self, name: str, function: Function) -> t.Tool:
        from doorward_mcp_server.function_tool import function_tool  # nobody has such tools unless the operator says so

        shown = function_tool(function, partial(self._gate.catalog.definition, function.server))
        annotations = t.ToolAnnotations(
            read_only_hint=function.read_only,
            destructive_hint=effect(function) == "destructive",
            idempotent_hint=function.idempotent,
            open_world_hint=True,
        )
        return t.Tool(
            name=name, title=shown.title, description=shown.description, annotations=annotations,
            input_schema=shown.input_schema, output_schema=shown.output_schema,
        )  # fmt: skip

    async def _call(self, function: Function, ctx: Any, params: t.CallToolRequestParams) -> Any:
        from doorward_mcp_server.function_tool import tool_arguments

        arguments = tool_arguments(function, params.arguments or {})
        return await self._suspended.call(
            ctx,
            params.request_state,
            partial(self._answer, function, arguments, principal_of(ctx), self._output.form(ctx)),
        )

    async def _answer(
        self, function: Function, arguments: Mapping[str, Any], principal: str, form: str, client: Client
    ) -> t.CallToolResult:
        outcome = await self._gate.answer(function.qualified, arguments, principal=principal, client=client)
        if not outcome.ok:
            return t.CallToolResult(content=[t.TextContent(text=outcome_as_text(outcome))], is_error=True)
        structured = _structured(outcome)
        text = compact_json(structured) if form == "json" else outcome_text(outcome, form)
        return t.CallToolResult(content=[t.TextContent(text=text)], structured_content=structured)


def _structured(outcome: Outcome) -> dict[str, Any]:
    """The structured content: an object is itself; any other value, and one that was cut, is put below `result`."""
    if isinstance(outcome.value, dict) and not outcome.truncated:
        return outcome.value
    return {"result": outcome.value} | ({"truncated": outcome.truncated} if outcome.truncated else {})
