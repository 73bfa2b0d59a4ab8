"""Guides to servers, as agents meet them."""

from __future__ import annotations

import http.server
import threading
from typing import Any

import pytest
from doorward import DoorwardError
from doorward_mcp_server.server import build
from doorward_testing.many_servers import Rows, configured
from doorward_testing.samples import CONFIG
from mcp import MCPError
from mcp.client import Client

from .conftest import plugin_of

pytestmark = pytest.mark.anyio


class _Redirecting(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        port = self.server.server_address[1]
        to = {
            "/elsewhere": f"http://localhost:{port}/guide",
            "/metadata": "http://169.254.169.254/latest",
            "/circle": "/circle",
            "/odd": "http://[",
            "/moved": "/guide",
        }.get(self.path)
        self.send_response(302 if to else 200)
        self.send_header("Location" if to else "X-Here", to or "")
        self.end_headers()
        self.wfile.write(b"the guide")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.mark.parametrize("path", ["elsewhere", "metadata", "circle", "odd", "moved"])
async def test_a_guide_is_not_followed_to_another_host(doorward_host: Any, path: str) -> None:
    """Agents read what a guide says: who keeps it cannot make Doorward read what is in its own network. CONTRACT:
    SEC-05."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Redirecting) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        config = CONFIG + f'skills = "http://127.0.0.1:{server.server_port}/{path}"\n'
        async with doorward_host.gateway(config) as gate:
            report = (await gate.compile(force=True))["weather"]
            names = plugin_of(gate).guides.names("local")
        server.shutdown()
    assert names == (["weather"] if path == "moved" else [])
    assert any("guide" in warning for warning in report.warnings) == (path != "moved")


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "rows", Rows)
    return doorward_host


async def test_guides_are_listed_in_pages(place: Any) -> None:
    """`list_skills`, the resources and the instructions are as long, and look at as many files, for many guides as for
    some."""
    size = 250
    text = configured(size).replace('source = "rows"', 'source = "rows"\nskills = "guide.md"')
    (place.folder / "guide.md").write_text("# Rows\n" + "Look at them. " * 5000)
    async with place.gateway(text, compile=False) as gate, Client(build(gate)) as client:
        looked: list[str] = []
        guides = plugin_of(gate).guides
        file = guides._file
        guides._file = lambda server: looked.append(server) or file(server)  # type: ignore[method-assign, func-returns-value]
        assert len(client.instructions or "") < 2048
        answer = await client.call_tool("list_skills", {})
        again = await client.call_tool("list_skills", {"cursor": answer.structured_content["cursor"]})
        assert len(answer.structured_content["skills"]) == len(again.structured_content["skills"]) == 100
        assert len(looked) == 200
        names, cursor = [], None
        while True:
            listed = await client.list_resources(cursor=cursor)
            assert len(listed.resources) <= 102
            names += [resource.name for resource in listed.resources]
            if (cursor := listed.next_cursor) is None:
                break
        assert len(names) == len(set(names)) == size + 1
        assert len(plugin_of(gate).guides.names("local")) == size
        hint = ""
        try:
            plugin_of(gate).guides.read("none", "local")
        except Exception as error:
            hint = getattr(error, "hint", "")
        assert 0 < len(hint) < 600


async def test_guides_are_there_without_code(doorward_host: Any, tmp_path: Any) -> None:
    """On the surface for calls; the instructions speak of no program."""
    guide = tmp_path / "weather.md"
    guide.write_text("Ask for Oslo.")
    config = f'surface = "calls"\n{CONFIG}skills = "{guide}"\n'
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        assert names[2:] == ["call_function", "list_skills", "get_server_skills"]
        assert "Ask for Oslo" in (client.instructions or "")
        assert not any(word in (client.instructions or "") for word in ("execute_code", "program", "Python", "sandbox"))
        assert (await client.read_resource("skills://weather")).contents[0].text == "Ask for Oslo."
        with pytest.raises(MCPError, match=r"there is no guide to 'other'\. Guides: weather\.|no guide to 'other'"):
            await client.read_resource("skills://other")


async def test_a_guide_is_for_those_who_may_use_the_server(doorward_host: Any) -> None:
    """To others there is none: neither its name nor a word of it."""
    (doorward_host.folder / "guide.md").write_text("# How to siphon")
    access = "[principals.alice]\nservers = []\n[principals.bob]\n"
    async with doorward_host.gateway(f'{CONFIG}skills = "guide.md"\n{access}') as gate:
        guides = plugin_of(gate).guides
        assert (guides.names("bob"), guides.read("weather", "bob")) == (["weather"], "# How to siphon")
        assert guides.names("alice") == []
        with pytest.raises(DoorwardError) as none:
            guides.read("weather", "alice")
        with pytest.raises(DoorwardError) as nobodys:
            guides.read("feather", "alice")
        assert str(none.value).replace("weather", "feather") == str(nobodys.value)
        assert none.value.hint == nobodys.value.hint
        for who, told in (("bob", "siphon"), ("alice", "there is no guide")):
            outcome = await gate.execute("result = await doorward.skills('weather')", principal=who)
            assert told in str(outcome)
            assert ("siphon" in str(outcome)) == (who == "bob")
        assert plugin_of(gate).instructions("", "alice") == ""


async def test_a_guide_is_followed_when_the_configuration_changes(doorward_host: Any) -> None:
    """Without a restart: the plugin is there for servers to come."""
    from doorward.servers.background_refresh import Reconfiguration

    (doorward_host.folder / "guide.md").write_text("Ask for Oslo.")
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.ready()
        assert not plugin_of(gate).guides.configured
        doorward_host.write(CONFIG + 'skills = "guide.md"\n')
        changes = Reconfiguration(gate.loaded, gate.servers, gate.principals)
        changes._stamp = ()
        assert await changes.look() == ["weather"]
        assert plugin_of(gate).guides.read("weather", "local") == "Ask for Oslo."
