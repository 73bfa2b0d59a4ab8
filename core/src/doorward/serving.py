"""For plugins that serve a gateway to agents, by MCP or another protocol; they import from `doorward` as well.

Such a plugin gets whole answers from the `Gateway` and puts them into the words of its protocol. Here is what it needs
for that: errors as text, who may come in over HTTP, and how principals share the slots.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "access.slots": "may_take",
        "calls.artefacts": "kind_of",
        "config.settings": "can_come_in",
        "data.cursors": "page",
        "data.quoting": "told",
        "host.logs": "seldom",
        "host.loopback": "IN_URLS",
        "host.processes": "Process",
        "model.principals": "endpoint_of person_of",
        "plugins.mcp_additions": "PRINCIPAL VERIFY_TOKEN RawPage RawPrompt RawResource RawSite RawTool principal_of",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
