"""The source `mcp`: the tools of any MCP server as functions. A source that reaches servers in another way is a
subclass of `MCP`, with settings of its own, that gives it a function that opens a `Wire`."""

from doorward.exports import Exports

_EXPORTS = Exports(__name__, {"connections.settings": "SessionSettings", "connections.wire": "Wire", "source": "MCP"})
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
