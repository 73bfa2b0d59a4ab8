"""The pytest plugin. It imports Doorward only when a fixture is used, or coverage would miss the import lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A `doorward_testing.Host` in a folder of its own, in which only the test installs plugins."""
    import os

    from doorward_testing.host import Host

    for name in [n for n in os.environ if n.startswith("DOORWARD_") and n != "DOORWARD_SPECS"]:
        monkeypatch.delenv(name)
    return Host(tmp_path)


@pytest.fixture
def doorward_host(host: Any) -> Any:
    """The host with the source and the executor of `doorward_testing.samples`; `CONFIG` there configures them."""
    from doorward_testing.samples import InProcess, Weather

    host.install("source", "fake", Weather)
    host.install("executor", "inprocess", InProcess)
    return host


@pytest.fixture
def cli(doorward_host: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """A `doorward_testing.Cli`, which runs a command line in the host's folder with the plugins of the host."""
    from doorward import Index
    from doorward.commands import main

    from doorward_testing.command_line import CommandEnded

    monkeypatch.chdir(doorward_host.folder)
    monkeypatch.setenv("DOORWARD_STATE_DIR", str(doorward_host.folder / "state"))
    for module in ("config.distribution", "gateway"):
        monkeypatch.setattr(f"doorward.{module}.find_index", lambda: Index(doorward_host.entries))

    def run(*words: str) -> CommandEnded:
        capsys.readouterr()
        code = 0
        try:
            main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        return CommandEnded(code, *capsys.readouterr())

    return run
