"""Doorward's MCP server: what clients see of a gateway, and how it reaches them. What a call or a run does is the
gateway's job, never this package's.

Importing this package costs nothing.
"""

from doorward.exports import Exports

_EXPORTS = Exports(__name__, {"serve": "run_server", "server": "serving"})
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
