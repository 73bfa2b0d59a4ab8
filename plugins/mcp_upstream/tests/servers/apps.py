"""A server of the SDK with interfaces (MCP Apps), some of which nobody should show: `apps.py`, over stdio. `NAME` is what
its pages say of whose they are."""

from __future__ import annotations

import os
from typing import Any

from mcp.server.apps import Apps, ResourceCsp, ResourcePermissions
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resources import TextResource

WHO = os.environ.get("NAME", "clock")
apps = Apps()


@apps.tool(resource_uri="ui://clock/app.html", visibility=["model", "app"])
def now() -> dict[str, Any]:
    """The time."""
    return {"time": "noon"}


apps.add_html_resource(
    "ui://clock/app.html", f"<!doctype html><p>page of {WHO}", prefers_border=True, domain="a.example",
    csp=ResourceCsp(
        connect_domains=["https://api.example.com", "https://evil.example", "*", "'unsafe-eval'"],
        resource_domains=["https://cdn.example.com"],
    ),
    permissions=ResourcePermissions(camera={}, clipboard_write={}),
)  # fmt: skip


@apps.tool(resource_uri="ui://clock/hidden.html")
def hidden() -> str:
    """A tool that is not exposed."""
    return "hidden"


apps.add_html_resource("ui://clock/hidden.html", "<p>hidden")


def wrong() -> str:
    """Its page is of another type."""
    return "wrong"


@apps.tool(resource_uri="ui://clock/large.html")
def large() -> str:
    """Its page is too large."""
    return "large"


apps.add_html_resource("ui://clock/large.html", "x" * (2**20 + 1))


@apps.tool(resource_uri="ui://clock/../../secret page")
def odd() -> str:
    """Its URI is not passed on."""
    return "odd"


apps.add_html_resource("ui://clock/../../secret page", "<p>odd")

if __name__ == "__main__":
    server = MCPServer("clock", extensions=[apps])
    server.add_tool(wrong, meta={"ui": {"resourceUri": "ui://clock/wrong.html"}})
    wrong_page = TextResource(uri="ui://clock/wrong.html", name="wrong", mime_type="text/html", text="<p>wrong")
    server.add_resource(wrong_page)  # the extension itself takes no other type
    server.run()
