"""The source `mcp`: the tools of any MCP server as functions."""

from doorward_mcp_upstream.source import MCP

__all__ = ["MCP"]
