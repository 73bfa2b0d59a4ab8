# `make reference` writes this file.
from doorward_mcp_upstream.connections.settings import SessionSettings as SessionSettings
from doorward_mcp_upstream.connections.wire import Wire as Wire
from doorward_mcp_upstream.source import MCP as MCP

__all__ = [
    "MCP",
    "SessionSettings",
    "Wire",
]
