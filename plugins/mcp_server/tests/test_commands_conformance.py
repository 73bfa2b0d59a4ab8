"""`serve`, `token` and `health` against the conformance class of commands, as any third party's command."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_mcp_server.health import health
from doorward_mcp_server.serve import serve
from doorward_mcp_server.tokens.command import token
from doorward_testing import CommandConformance


@pytest.mark.slow
class TestServe(CommandConformance):
    command, name = serve, "serve"

    def fails(self, host: Any) -> list[list[str]]:
        return [["--config", "none.toml"], ["--port", "70000"]]


@pytest.mark.slow
class TestToken(CommandConformance):
    command, name = token, "token"

    def works(self, host: Any) -> list[list[str]]:
        return [["list"], ["list", "--json"], ["new", "alice", "--json"]]

    def fails(self, host: Any) -> list[list[str]]:
        return [["revoke", "none"], ["new", "alice", "--expires", "never"]]


@pytest.mark.slow
class TestHealth(CommandConformance):
    command, name = health, "health"

    def fails(self, host: Any) -> list[list[str]]:
        return [["--config", "none.toml"]]
