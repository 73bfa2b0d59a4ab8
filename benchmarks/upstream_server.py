"""A low-level MCP server of the SDK, to be used behind Doorward: it returns an item by number,
or a text of any length."""

from __future__ import annotations

import functools
from typing import Any

import anyio
import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NUMBER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}
ITEM = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
}
READS = t.ToolAnnotations(read_only_hint=True)
TOOLS = [
    t.Tool(name="item", description="An item.", input_schema=NUMBER, output_schema=ITEM, annotations=READS),
    t.Tool(name="text", description="So many bytes.", input_schema=NUMBER, annotations=READS),
]


@functools.cache
def text(length: int) -> str:
    return ("0123456789abcdef" * (length // 16 + 1))[:length]


async def list_tools(ctx: Any, params: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=TOOLS)


async def call_tool(ctx: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
    number = (params.arguments or {})["n"]
    if params.name == "text":
        return t.CallToolResult(content=[t.TextContent(text=text(number))])
    item = {"id": number, "name": f"item {number}"}
    return t.CallToolResult(content=[t.TextContent(text=str(item))], structured_content=item)


async def main() -> None:
    server: Server[Any] = Server("upstream", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
