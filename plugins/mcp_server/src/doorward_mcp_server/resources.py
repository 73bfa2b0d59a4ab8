"""The MCP resources: capabilities, functions, and results that were too large to show."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as t
from doorward import DoorwardError, Gateway
from doorward.values import in_a_line
from doorward_text import capabilities
from mcp import MCPError

CAPABILITIES = "doorward://capabilities"
FUNCTIONS = "doorward://functions/"
RESULTS = "doorward://results/"

OWN_PREFIX = "doorward://"
"""The beginning of the URIs of Doorward's own resources."""

_CAPABILITIES = t.Resource(
    name="capabilities",
    title="Capabilities",
    uri=CAPABILITIES,
    mime_type="text/plain",
    description="What can be done here.",
)
TEMPLATES = [
    t.ResourceTemplate(
        name="function", title="Function", uri_template=FUNCTIONS + "{server}/{function}", mime_type="text/plain",
        description="Signature, response type, docs and an example of a function.",
    ),
    t.ResourceTemplate(
        name="result", title="Result", uri_template=RESULTS + "{id}{?offset}",
        description="A result too large to show, in pages.",
    ),
]  # fmt: skip


def listed(others: list[t.Resource]) -> t.ListResourcesResult:
    """The resources that can be listed: our own, then `others`."""
    return t.ListResourcesResult(resources=[_CAPABILITIES, *others])


async def read(gate: Gateway, uri: str, principal: str) -> t.ReadResourceResult:
    """The contents of a resource. Raises: MCPError (-32602), which says what to do, if there is no such resource."""
    try:
        if uri == CAPABILITIES:
            return _text(uri, capabilities(gate, principal))
        if uri.startswith(FUNCTIONS):
            function = uri.removeprefix(FUNCTIONS).replace("/", ".", 1)
            (card,) = await gate.get_functions([function], principal=principal)
            if "text" in card:
                return _text(uri, card["text"])
            raise _not_found(uri, card["error"])
        if uri.startswith(RESULTS):
            return await _page(gate, uri, principal)
    except DoorwardError as error:
        raise _not_found(uri, in_a_line(error)) from None
    raise _not_found(uri, uri[:200])


def _not_found(uri: str, why: str) -> MCPError:
    return MCPError(t.INVALID_PARAMS, f"Resource not found: {why}", {"uri": uri[:2000]})


async def _page(gate: Gateway, uri: str, principal: str) -> t.ReadResourceResult:
    page = await gate.result(uri, principal=principal)
    meta: dict[str, Any] = {"doorward/offset": page.offset, "doorward/total": page.total} | (
        {"doorward/next": page.next} if page.next else {}
    )
    if isinstance(page.content, bytes):
        blob = t.BlobResourceContents(
            uri=uri, mime_type=page.type, blob=base64.b64encode(page.content).decode(), _meta=meta
        )
        return t.ReadResourceResult(contents=[blob])
    text = page.content + (
        f"\n[{page.offset + len(page.content)} of {page.total} characters; next: {page.next}]" if page.next else ""
    )
    return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, mime_type=page.type, text=text, _meta=meta)])


def _text(uri: str, text: str) -> t.ReadResourceResult:
    return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, mime_type="text/plain", text=text)])
