"""The three commands against the conformance class of commands, as any third party's command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doorward_clients.connect import connect
from doorward_clients.importing import import_
from doorward_clients.setup import setup
from doorward_testing import CommandConformance


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without any clients."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow
class TestConnect(CommandConformance):
    command, name = connect, "connect"

    def works(self, host: Any) -> list[list[str]]:
        return [["--json"], ["cursor", "--print"]]

    def fails(self, host: Any) -> list[list[str]]:
        return [["cursor", "--move", "--remove"], ["cursor", "--config", "none.toml"]]


@pytest.mark.slow
class TestImport(CommandConformance):
    command, name = import_, "import"

    def works(self, host: Any) -> list[list[str]]:
        (host.folder / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": {"command": "notes"}}}))
        return [["mcp.json", "--dry-run"], ["mcp.json", "--dry-run", "--json"]]

    def fails(self, host: Any) -> list[list[str]]:
        return [["none.json"]]


@pytest.mark.slow
class TestSetup(CommandConformance):
    command, name = setup, "setup"

    def fails(self, host: Any) -> list[list[str]]:
        return [[]]
