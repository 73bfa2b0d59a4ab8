"""Doorward as a client of MCP servers, against the client scenarios of the MCP conformance suite, in both revisions of
the protocol."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .suite import REVISIONS, command, run

HERE = Path(__file__).parent
WAITING = ["--timeout", "120000"]
"""The scenarios of a revision start all at once, and wait for one another."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command that plays a scenario."""
    command()
    with tempfile.TemporaryDirectory() as folder, (tmp_path_factory.mktemp("client") / "log").open("wb") as log:
        socket = Path(folder) / "socket"  # a short path, as sockets want it
        process = subprocess.Popen([sys.executable, str(HERE / "client.py"), str(socket)], stdout=log, stderr=log)
        patience = time.monotonic() + 60
        while not socket.exists() and process.poll() is None and time.monotonic() < patience:
            time.sleep(0.05)
        yield f"{sys.executable} -I {HERE / 'forward.py'} {socket}"
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize("revision", REVISIONS)
def test_client_scenarios(revision: str, client: str, tmp_path: Path) -> None:
    """Every scenario that the revision requires of clients passes, with authorization and without. CONTRACT: MCP-03."""
    code, said = run(["client", "--command", client, "--requirements", revision, *WAITING], tmp_path)
    assert code == 0, said[-6000:]
    assert "SKIPPED: " not in said, said[-6000:]


OLD = ("2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback")


@pytest.mark.parametrize("scenario", ["client-credentials-basic", "client-credentials-jwt", *OLD])
def test_further_authorization(scenario: str, client: str, tmp_path: Path) -> None:
    """Clients that need nobody, and servers of the first revision that had authorization. CONTRACT: AUT-05."""
    code, said = run(["client", "--command", client, "--scenario", f"auth/{scenario}"], tmp_path)
    assert code == 0, said[-6000:]
