"""Interfaces of tools (MCP Apps): what a server may send, and what passes."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest
from doorward import Call, DoorwardError, Function
from doorward_mcp_upstream import apps
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.tools.functions import app_of
from pydantic import ValidationError

pytestmark = pytest.mark.anyio
URI = "ui://clock/app.html"
PAGE = {"uri": URI, "mimeType": apps.MIME, "text": "<p>"}
LISTING: Any = SimpleNamespace(tools=[{"name": "now", "_meta": {"ui": {"resourceUri": URI}}}, {"name": "other"}])


class Says:
    """A server that answers with these contents."""

    def __init__(self, contents: Any) -> None:
        self.contents = contents

    async def request(self, method: str, params: Any, **options: Any) -> Any:
        assert (method, params, options["safe"]) == ("resources/read", {"uri": URI}, True)
        return {"contents": self.contents}


async def read(contents: Any, uri: str = URI, **settings: Any) -> dict[str, Any]:
    found = MCPSettings(command=["x"], **{"apps": True, **settings})
    upstream: Any = Says(contents)
    return await apps.perform(Call(Function("clock", "read_app", apps.READ), {"uri": uri}), upstream, found, LISTING)


@pytest.mark.parametrize(
    "contents",
    [
        None, [], "x", [PAGE, PAGE], [{**PAGE, "uri": "ui://other/app.html"}], [{**PAGE, "mimeType": "text/html"}],
        [{**PAGE, "mimeType": f"{apps.MIME};charset=utf-7"}], [{**PAGE, "text": 5}], [{**PAGE, "text": "ä" * 2**19 + "x"}],
        [{"uri": URI, "mimeType": apps.MIME, "blob": "%"}], [{"uri": URI, "mimeType": apps.MIME, "blob": "x" * 2**21}],
    ],
)  # fmt: skip
async def test_what_is_no_page_does_not_pass(contents: Any) -> None:
    with pytest.raises(DoorwardError):
        await read(contents)


async def test_a_page_has_the_rights_that_it_asks_for_and_is_granted() -> None:
    """And no others, however it asks."""
    none = dict.fromkeys(apps._DOMAINS, ())
    for meta in (None, [], {"ui": 1}, {"ui": {"csp": [1]}}, {"ui": {"csp": {"connectDomains": "https://a.example"}}}):
        page = await read([{**PAGE, "_meta": meta}], app_domains=["https://a.example"])
        assert page == {"html": "<p>", "csp": {key: [] for key in none}}
    asked = {"connectDomains": ["*", {}, "https://a.example"], "frameDomains": ["https://b.example"], "script": ["x"]}
    ui = {"csp": asked, "permissions": {"camera": {}}, "domain": "x.example", "prefersBorder": False}
    blob = {"uri": URI, "mimeType": "text/html; profile=mcp-app", "blob": base64.b64encode("ä".encode()).decode()}
    page = await read([{**blob, "_meta": {"ui": ui}}], app_domains=["https://a.example", "https://c.example"])
    granted = {"connectDomains": ["https://a.example"], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []}
    assert page == {"html": "ä", "csp": granted, "border": False}


async def test_only_pages_of_tools_pass_and_only_if_the_operator_says_so() -> None:
    with pytest.raises(DoorwardError, match="no tool of clock has the interface"):
        await read([PAGE], uri="ui://clock/other.html")
    with pytest.raises(DoorwardError, match="not passed on"):
        await read([PAGE], apps=False)
    odd = [
        5,
        "http://x/",
        "ui://",
        "ui:///a",
        "ui://a/../b",
        "ui://a/%2e",
        "ui://a/.b",
        "ui://a b",
        "ui://" + "a/" * 99,
    ]
    assert {app_of({"_meta": {"ui": {"resourceUri": uri}}}) for uri in odd} == {""}
    assert {app_of({"_meta": meta}) for meta in (None, [], {"ui": []}, {"ui/resourceUri": URI})} == {""}


@pytest.mark.parametrize(
    "origin",
    ["*", "https://*", "http://a.example", "https://a.example/x", "https://a.example; x", "'self'", "https://a"],
)
def test_what_the_operator_grants_is_an_origin(origin: str) -> None:
    with pytest.raises(ValidationError, match="is no origin"):
        MCPSettings(command=["x"], app_domains=[origin])
    fine = ["https://*.a.example", "wss://a.example:8443"]
    assert MCPSettings(command=["x"], app_domains=fine).app_domains == fine
