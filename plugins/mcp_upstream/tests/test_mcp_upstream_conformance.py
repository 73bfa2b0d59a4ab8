"""An MCP server over stdio against the conformance class of sources, as any third party's source."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from doorward_mcp_upstream import MCP
from doorward_testing import SourceConformance, check_driver

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parent / "servers/wire.py"


class TestMCPConformance(SourceConformance):
    driver = MCP

    def settings(self, host: Any) -> dict[str, Any]:
        words = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}
        tools = [{"name": "find-notes", "inputSchema": words}, {"name": "fail", "inputSchema": {"type": "object"}}]
        failed = {"content": [{"type": "text", "text": "there is none"}], "isError": True}
        (host.folder / "wire.json").write_text(json.dumps({"tools": tools, "results": {"fail": failed}}))
        return {"command": [sys.executable, str(WIRE), str(host.folder / "wire.json")]}

    def example(self, host: Any) -> tuple[str, dict[str, Any]]:
        return "find_notes", {"words": "milk"}

    def refused(self, host: Any) -> tuple[str, dict[str, Any]]:
        return "fail", {}

    def broken(self, host: Any) -> dict[str, Any]:
        return {"command": [str(host.folder / "no-such-program")]}


def test_it_is_installed() -> None:
    """The driver is found under its word in the configuration."""
    assert check_driver("source", "mcp") is MCP
