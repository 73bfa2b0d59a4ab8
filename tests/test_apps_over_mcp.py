"""Interfaces of upstream tools (MCP Apps): the SDK's own on one side, the SDK's client on the other, and a strict policy
between them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from doorward_mcp_server.server import build
from doorward_mcp_upstream import MCP
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.extension import advertise

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVER = Path(__file__).parents[1] / "plugins/mcp_upstream/tests/servers/apps.py"
UI, MIME = "io.modelcontextprotocol/ui", "text/html;profile=mcp-app"
SHOWS = [advertise(UI, {"mimeTypes": [MIME]})]
EXPOSE = 'expose = ["now", "wrong", "large", "odd"]'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def server(name: str, more: str) -> str:
    command = json.dumps([sys.executable, str(SERVER)])
    return f'\n[servers.{name}]\nsource = "mcp"\ncommand = {command}\nenv = {{ NAME = "{name}" }}\n{EXPOSE}\n{more}\n'


def clients(gate: Any, era: str, extensions: Any = SHOWS) -> Client:
    return Client(build(gate), mode=era, extensions=extensions)


async def shown(client: Client) -> dict[str, Any]:
    """What the client is told of the interfaces of the tools."""
    tools = (await client.list_tools()).tools
    return {tool.name: (tool.meta or {}).get("ui") for tool in tools}


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("text", "program_helpers", "observed", "doorward-mcp-server")
    doorward_host.install("source", "mcp", MCP)


async def test_interfaces_are_passed_on_where_the_operator_says_so(doorward_host: Any) -> None:
    """To clients of both eras that show them, of exposed tools alone, with the rights that are granted, and for the model
    alone: a page can call no tool. Two servers with the same URIs do not meet."""
    allowed = (
        'apps = true\napp_domains = ["https://api.example.com", "https://cdn.example.com", "https://more.example"]'
    )
    base = 'executor = "inprocess"\ncache = "none"\nplugins = []\n'
    config = base + server("one", allowed) + server("two", "apps = true") + server("off", "")
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        for era in ("auto", "legacy"):
            async with clients(gate, era) as client:
                ui = await shown(client)
                alone = {"visibility": ["model"]}
                assert ui["one_now"] == {**alone, "resourceUri": "ui://one/clock/app.html"}
                assert ui["two_now"] == {**alone, "resourceUri": "ui://two/clock/app.html"}
                assert ui["off_now"] == ui["execute_code"] == ui["one_odd"] == alone
                (page,) = (await client.read_resource("ui://one/clock/app.html")).contents
                assert (page.text, page.mime_type) == ("<!doctype html><p>page of one", MIME)
                none = {"frameDomains": [], "baseUriDomains": []}
                csp = {"connectDomains": ["https://api.example.com"], "resourceDomains": ["https://cdn.example.com"]}
                assert page.meta == {"ui": {"csp": csp | none, "prefersBorder": True}}
                (page,) = (await client.read_resource("ui://two/clock/app.html")).contents
                assert page.text == "<!doctype html><p>page of two"
                assert page.meta["ui"]["csp"] == {each: [] for each in [*csp, *none]}
                assert (await client.call_tool("one_now", {})).structured_content == {"time": "noon"}
                for uri, why in (
                    ("ui://one/clock/wrong.html", "not the page"),
                    ("ui://one/clock/large.html", "more than 1,048,576 bytes"),
                    ("ui://one/clock/hidden.html", "not found"),
                    ("ui://one/clock/../../secret page", "not found"),
                    ("ui://off/clock/app.html", "not found"),
                    ("ui://clock/app.html", "not found"),
                    ("ui://one/two/clock/app.html", "not found"),
                ):
                    with pytest.raises(MCPError, match=why):
                        await client.read_resource(uri)
            for extensions in ([], [advertise(UI, {"mimeTypes": ["text/html"]})]):
                async with clients(gate, era, extensions) as client:
                    assert set((await shown(client)).values()) == {None}
                    with pytest.raises(MCPError, match="not found"):
                        await client.read_resource("ui://one/clock/app.html")
        refused = await gate.answer("off.apps/read", {"uri": "ui://clock/app.html"})
        assert "not passed on" in refused.error.message


async def test_who_may_not_call_a_tool_does_not_get_its_page(doorward_host: Any) -> None:
    """Nor is anybody told of interfaces where no server has them switched on: nothing is then said of them."""
    base = 'executor = "inprocess"\ncache = "none"\nplugins = []\n'
    denied = base + server("one", "apps = true") + '\n[principals.local]\ndeny = ["one.now"]\n'
    async with doorward_host.gateway(denied) as gate, clients(gate, "auto") as client:
        await gate.ready()
        assert client.server_capabilities.extensions.keys() >= {UI}
        ui = await shown(client)
        assert "one_now" not in ui
        assert ui["one_large"]["resourceUri"] == "ui://one/clock/large.html"
        with pytest.raises(MCPError, match="not found"):
            await client.read_resource("ui://one/clock/app.html")
    async with doorward_host.gateway(base + server("one", "")) as gate, clients(gate, "auto") as client:
        await gate.ready()
        assert UI not in client.server_capabilities.extensions
        ui = await shown(client)
        assert "one_now" in ui
        assert set(ui.values()) == {None}
