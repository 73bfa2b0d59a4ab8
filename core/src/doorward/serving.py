"""For plugins that serve a gateway to agents, by MCP or another protocol; they import from `doorward` as well.

Such a plugin gets whole answers from the `Gateway` and puts them into the words of its protocol. Here is what it needs
for that: errors as text, settings of who may come in over HTTP, and how
principals share the slots.
"""

from __future__ import annotations

from doorward.access.slots import may_take
from doorward.calls.artefacts import kind_of
from doorward.config.config import Loaded
from doorward.config.http_settings import HttpSettings, OAuthSettings
from doorward.config.settings import can_come_in
from doorward.config.urls import origin_of
from doorward.data.cursors import page
from doorward.data.quoting import apart, indented, told
from doorward.host.files import shared_secret
from doorward.host.logs import seldom
from doorward.host.loopback import IN_URLS, is_loopback
from doorward.host.processes import Process
from doorward.model.names import some
from doorward.plugins.mcp_additions import PRINCIPAL, RawPage, RawPrompt, RawResource, RawTool, principal_of

__all__ = [
    "IN_URLS",
    "PRINCIPAL",
    "HttpSettings",
    "Loaded",
    "OAuthSettings",
    "Process",
    "RawPage",
    "RawPrompt",
    "RawResource",
    "RawTool",
    "apart",
    "can_come_in",
    "indented",
    "is_loopback",
    "kind_of",
    "may_take",
    "origin_of",
    "page",
    "principal_of",
    "seldom",
    "shared_secret",
    "some",
    "told",
]
