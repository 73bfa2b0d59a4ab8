"""An MCP server with a tool that fails, names that are no Python, a resource and a prompt."""

from __future__ import annotations

import os
from typing import Any

import anyio
import mcp_types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

OPEN_IT = {"type": "object", "properties": {"per-page": {"type": "integer"}}, "required": ["per-page"]}


async def list_tools(ctx: Any, params: Any) -> t.ListToolsResult:
    open_it = t.Tool(name="open-it", description="Open the box", input_schema=OPEN_IT)
    return t.ListToolsResult(
        tools=[open_it, t.Tool(name="jamNow", description="Jam the box", input_schema={"type": "object"})]
    )


async def call_tool(ctx: Any, params: Any) -> t.CallToolResult:
    jams = params.name == "jamNow"
    said = "the box is jammed" if jams else f"page {params.arguments['per-page']} in {os.getcwd()}"
    return t.CallToolResult(content=[t.TextContent(text=said)], is_error=jams)


async def list_resources(ctx: Any, params: Any) -> t.ListResourcesResult:
    return t.ListResourcesResult(resources=[t.Resource(uri="box://lid", name="lid")])


async def read_resource(ctx: Any, params: Any) -> t.ReadResourceResult:
    return t.ReadResourceResult(contents=[t.TextResourceContents(uri=params.uri, text="a lid")])


async def list_prompts(ctx: Any, params: Any) -> t.ListPromptsResult:
    return t.ListPromptsResult(prompts=[t.Prompt(name="tidy", arguments=[t.PromptArgument(name="room")])])


async def get_prompt(ctx: Any, params: Any) -> t.GetPromptResult:
    said = t.TextContent(text=f"Tidy the {params.arguments['room']}, please.")
    return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=said)])


async def main() -> None:
    server = Server(
        "box", on_list_tools=list_tools, on_call_tool=call_tool, on_list_resources=list_resources, on_read_resource=read_resource,
        on_list_prompts=list_prompts, on_get_prompt=get_prompt,
    )  # fmt: skip
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


anyio.run(main)
