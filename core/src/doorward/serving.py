"""What serves a gateway to agents imports, besides `doorward` itself: the MCP server, or another protocol's.

A face gets whole answers from the `Gateway` and says them in the words of its protocol. What is here is for that:
answers and errors as text, functions as tools of their own, who comes in over HTTP, and how principals share what there
is.
"""

from __future__ import annotations

from doorward.access.slots import may_take
from doorward.calls.artefacts import kind_of
from doorward.config.config import Loaded
from doorward.config.settings import HttpSettings, OAuthSettings, can_come_in, origin_of
from doorward.config.token_file import TokenFile
from doorward.data.quoting import indented, told
from doorward.describe.function_tool import FunctionTool, function_tool, tool_arguments
from doorward.describe.results.outcome_schema import outcome_names
from doorward.describe.results.outcome_text import as_dict, as_text
from doorward.describe.validation_messages import mistakes
from doorward.host.logs import seldom
from doorward.host.loopback import IN_URLS, is_loopback
from doorward.model.names import some
from doorward.plugins.mcp_additions import PRINCIPAL

__all__ = [
    "IN_URLS",
    "PRINCIPAL",
    "FunctionTool",
    "HttpSettings",
    "Loaded",
    "OAuthSettings",
    "TokenFile",
    "as_dict",
    "as_text",
    "can_come_in",
    "function_tool",
    "indented",
    "is_loopback",
    "kind_of",
    "may_take",
    "mistakes",
    "origin_of",
    "outcome_names",
    "seldom",
    "some",
    "told",
    "tool_arguments",
]
