"""Doorward inside a Python program: in front of an MCP server that is an object of it, and as tools for an agent that
runs in it, whatever framework that is written with.

    from doorward_embed import wrap
    from shop import mcp  # a FastMCP, or a server of the SDK

    wrap(mcp).run()
"""

from doorward.exports import Exports

_EXPORTS = Exports(__name__, {"toolbox": "Tool Toolbox open_tools", "wrapping": "Wrapped wrap"})
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
