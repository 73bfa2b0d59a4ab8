"""`doorward serve` against the server scenarios of the MCP conformance suite, in both revisions of the protocol.

The tools, prompts and resources that the scenarios call come from a hook plugin (`everything.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .suite import REVISIONS, command, failing, run

METADATA = "Metadata-Version: 2.1\nName: everything\nVersion: 1.0\n"
POINTS = "[doorward.plugins]\neverything = everything\n"
NOT_SERVED = ("tasks-required-task-error", "server-sse-polling")
"""What is not required, and not served: tools that cannot be called but as tasks, and events after a broken connection
(removed in 2026-07-28)."""
CONFIG = 'state = "state"\nplugins = ["everything"]\n'


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where Doorward serves with the plugin, which is installed in that one environment."""
    command()
    folder = tmp_path_factory.mktemp("conformance")
    about = folder / "site/everything-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(METADATA)
    (about / "entry_points.txt").write_text(POINTS)
    (folder / "doorward.toml").write_text(CONFIG)
    log = folder / "log"
    environment = {
        **os.environ,
        "HOME": str(folder),
        "PYTHONPATH": f"{about.parent}{os.pathsep}{Path(__file__).parent}",
    }
    words = ["serve", "--transport", "http", "--port", "0", "--config", str(folder / "doorward.toml")]
    with log.open("w") as said:
        serving = subprocess.Popen(
            [sys.executable, "-m", "doorward", *words], env=environment, cwd=folder, stdout=said, stderr=said
        )
    try:
        end = time.monotonic() + 100
        while "Serving MCP at" not in log.read_text():
            assert serving.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield log.read_text().rpartition("Serving MCP at ")[2].split()[0]
    finally:
        serving.terminate()
        serving.wait(60)


@pytest.mark.parametrize("revision", REVISIONS)
def test_server_scenarios(url: str, revision: str, tmp_path: Path) -> None:
    """Every scenario that the revision requires of servers passes."""
    code, said = run(["server", "--url", url, "--requirements", revision], tmp_path)
    assert code == 0, said[-6000:]
    assert {name for name in failing(said) if not name.startswith(NOT_SERVED)} == set()
