"""The hook plugin `clients`, which notices what clients have got."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from doorward import PluginContext
from doorward_clients.noticing import ClientsHook, ClientsSettings
from structlog.testing import capture_logs

GITHUB = {"command": "github", "env": {"GITHUB_TOKEN": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}}
NEEDS = {"command": "x", "env": {"A": "${env:OTHERS_TOKEN}"}}


class Noticed:
    """A home with a client, a configuration with no server, and the hook at work there."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home, self.config = home, home / "project/doorward.toml"
        self.config.parent.mkdir()
        self.config.write_text("")
        self.hook = ClientsHook(PluginContext("clients", ClientsSettings(**settings), home))

    def look(self, file: str = ".cursor/mcp.json", **servers: Any) -> list[Any]:
        """What is logged when the client has these servers, and it is time to refresh."""
        (self.home / file).parent.mkdir(exist_ok=True)
        (self.home / file).write_text(json.dumps({"mcpServers": servers}))
        with capture_logs() as logs:
            self.hook.refresh_due(self.config, self.config.with_name(".env"))
        return [(line["event"], line["servers"]) for line in logs]

    @property
    def servers(self) -> Any:
        return tomllib.loads(self.config.read_text()).get("servers", {})


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OTHERS_TOKEN", "t0ken-of-another-server")


def test_new_servers_are_logged_once(tmp_path: Path) -> None:
    """A server that a client has got is logged, and nothing is written; the next time only what is newer. A project's own
    file is anybody's, and not looked at. CONTRACT: SRC-21, CLI-05, MCP-06."""
    noticed = Noticed(tmp_path)
    assert noticed.look(github=GITHUB) == [("client_servers_new", ["github of Cursor, global"])]
    assert noticed.look(github=GITHUB) == []
    assert noticed.look(github=GITHUB, x=NEEDS) == [("client_servers_new", ["x of Cursor, global"])]
    assert noticed.look("MCPs/more.json", notes={"command": "n"}) == [("client_servers_new", ["notes of more.json"])]
    assert noticed.look("elsewhere/.mcp.json", bad={"command": "b"}) == []
    assert noticed.servers == {}


def test_new_servers_are_taken_where_the_operator_says_so(tmp_path: Path) -> None:
    """They are taken over as by an import without a person: secrets go to `.env`, and what would get a variable that is
    set is only logged. CONTRACT: SRC-21, CLI-05."""
    noticed = Noticed(tmp_path, new_servers="take")
    assert noticed.look(github=GITHUB, x=NEEDS) == [
        ("client_servers_taken", ["github of Cursor, global"]),
        ("client_servers_new", ["x of Cursor, global"]),
    ]
    env = {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}
    assert noticed.servers == {"github": {"source": "mcp", "command": ["github"], "env": env}}
    assert GITHUB["env"]["GITHUB_TOKEN"] in noticed.config.with_name(".env").read_text()  # type: ignore[index]
    assert noticed.look(github=GITHUB, x=NEEDS) == []
