"""Interfaces of tools (MCP Apps: `ui://` resources that clients show beside an answer): which are passed on, and with
which rights. A page of a stranger runs in the client of whoever calls, so nothing passes that is not understood."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from doorward import Call, InvalidArguments, LimitExceeded, ServerError

from doorward_mcp_upstream.connections.settings import SessionSettings
from doorward_mcp_upstream.tools.functions import app_of
from doorward_mcp_upstream.upstream import Listing, Upstream

READ = "apps/read"
"""The id of the function that reads one."""

MIME = "text/html;profile=mcp-app"

MAX_BYTES = 2**20
"""Bytes of a page."""

_DOMAINS = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")


async def perform(call: Call, upstream: Upstream, settings: SessionSettings, listing: Listing) -> dict[str, Any]:
    """The page that a call of `READ` asks for, with the rights that the operator grants it.

    Raises: ServerError, InvalidArguments, LimitExceeded.
    """
    uri, server = call.arguments["uri"], call.function.server
    if not settings.apps:
        raise ServerError(
            f"interfaces of {server} are not passed on", hint=f"The operator allows them: `apps` of [servers.{server}]."
        )
    if not uri or uri not in map(app_of, listing.tools):
        raise InvalidArguments(f"no tool of {server} has the interface {uri[:200]!r}")
    result = await upstream.request("resources/read", {"uri": uri}, call=call, safe=True)
    match result.get("contents"):
        case [{"uri": found, "mimeType": str(kind)} as content] if found == uri and _plain(kind) == MIME:
            return {"html": _html(content), **_rights(content, settings.app_domains)}
    raise ServerError(f"{server} answered with something that is not the page {uri} of the type {MIME}")


def _html(content: Mapping[str, Any]) -> str:
    match content:
        case {"text": str(text)}:
            large = len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES
        case {"blob": str(blob)}:
            if not (large := len(blob) > MAX_BYTES * 4 // 3 + 4):
                try:
                    text = base64.b64decode(blob, validate=True).decode()
                except ValueError:
                    raise ServerError("the page is no text in base64") from None
        case _:
            raise ServerError("the page has no content")
    if large:
        raise LimitExceeded(f"the page has more than {MAX_BYTES:,} bytes")
    return text


def _rights(content: Mapping[str, Any], allowed: Sequence[str]) -> dict[str, Any]:
    """What a page may reach: of what it asks for, what the operator allows. Never a permission (camera, microphone …),
    nor a domain of its own."""
    meta = content.get("_meta")
    ui = meta.get("ui") if isinstance(meta, Mapping) else None
    ui = ui if isinstance(ui, Mapping) else {}
    csp = ui.get("csp")
    asked = {name: _list(csp.get(name)) if isinstance(csp, Mapping) else [] for name in _DOMAINS}
    border = ui.get("prefersBorder")
    granted = {name: [each for each in allowed if each in domains] for name, domains in asked.items()}
    return {"csp": granted} | ({"border": border} if isinstance(border, bool) else {})


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _plain(kind: str) -> str:
    return kind.replace(" ", "").lower()
