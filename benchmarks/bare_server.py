"""The smallest possible MCP server with the SDK: one tool that does nothing. Usage, with the transport: `python
bare_server.py sdk|ours`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types as t
from mcp.server.lowlevel import Server

TOOL = t.Tool(
    name="empty",
    description="Does nothing.",
    input_schema={"type": "object", "properties": {"code": {"type": "string"}}},
)


async def list_tools(ctx: Any, params: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=[TOOL])


async def call_tool(ctx: Any, params: Any) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text="2")], structured_content={"ok": True, "value": 2})


async def main(transport: str) -> None:
    if transport == "ours":
        from doorward_mcp_server.stdio import streams
    else:
        from mcp.server.stdio import stdio_server as streams
    server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with streams() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main, sys.argv[1])
