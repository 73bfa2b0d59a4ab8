"""Doorward as a client of MCP servers, against the client scenarios of the MCP conformance suite, in both revisions of the protocol."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .suite import run

COMMAND = f"{sys.executable} {Path(__file__).with_name('client.py')}"
PLAIN = [
    *(("2025-11-25", name) for name in ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry")),
    *(("2026-07-28", name) for name in ("tools_call", "request-metadata", "sep-2322-client-request-state", "http-standard-headers")),
    *(("2026-07-28", name) for name in ("http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref")),
]
"""What a revision requires of clients, without authorization."""


@pytest.mark.parametrize(("revision", "scenario"), PLAIN)
def test_client_scenarios(revision: str, scenario: str, tmp_path: Path) -> None:
    """Every scenario without authorization that the revision requires of clients passes."""
    code, said = run(["client", "--command", COMMAND, "--scenario", scenario, "--spec-version", revision], tmp_path)
    assert code == 0, said[-6000:]
    assert "SKIPPED: " not in said, said[-6000:]
