"""The MCP server: tools, prompt, resources, transports. The only part of core that imports the SDK `mcp`, and it
does so when it serves: importing this package costs nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from doorward.mcp.clients import principal_of as principal_of


@dataclass(frozen=True, slots=True)
class RawTool:
    """An MCP tool that a plugin adds by the hook `mcp_tools`. `tool` is an `mcp_types.Tool`; `call` gets the SDK's request
    context and the arguments, and answers an `mcp_types.CallToolResult`.

    `context.session` reports progress and asks clients of the older era. One of the newer era is asked by an
    `InputRequiredResult`; its next request has `context.params["inputResponses"]`, and in `context.params["requestState"]`
    what the result had as its state: that is sealed on the way to the client and back.
    """

    tool: Any
    call: Callable[[Any, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RawPrompt:
    """An MCP prompt that a plugin adds by the hook `mcp_prompts`. `prompt` is an `mcp_types.Prompt`; `get` gets the SDK's
    request context and the arguments, and answers an `mcp_types.GetPromptResult` (or asks, as `RawTool` does)."""

    prompt: Any
    get: Callable[[Any, Mapping[str, str]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RawResource:
    """MCP resources that a plugin adds by the hook `mcp_resources`. `resource` is an `mcp_types.Resource`, or a
    `ResourceTemplate` for all that fit its RFC 6570 template; `read` gets the SDK's request context and the URI, and answers
    an `mcp_types.ReadResourceResult` (or asks, as `RawTool` does)."""

    resource: Any
    read: Callable[[Any, str], Awaitable[Any]]
