"""The MCP server: tools, prompt, resources, transports. The only part of core that imports the SDK `mcp`, and it
does so when it serves: importing this package costs nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RawTool:
    """An MCP tool that a plugin adds by the hook `mcp_tools`. `tool` is an `mcp_types.Tool`; `call` gets the SDK's
    request context and the arguments, and answers an `mcp_types.CallToolResult`."""

    tool: Any
    call: Callable[[Any, Mapping[str, Any]], Awaitable[Any]]
