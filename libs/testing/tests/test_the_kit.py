"""What plugin authors test with does what its README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import doorward_testing
import pytest
from doorward_testing import Cli, Host
from doorward_testing.samples import CONFIG

README = Path(__file__).parents[1] / "README.md"


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


def test_the_example_of_the_readme(tmp_path: Path) -> None:
    """Somebody who has the distribution and this file has tests of their source."""
    (example,) = re.findall(
        r"^```python\n(# test_notes\.py\n.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "test_notes.py").write_text(example)
    (tmp_path / "pytest.ini").touch()
    done = run("-m", "pytest", "-q", "test_notes.py", folder=tmp_path)
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout


def test_the_readme_names_every_export() -> None:
    """What is exported is told, and loaded when it is used."""
    text = README.read_text(encoding="utf-8")
    assert [name for name in doorward_testing.__all__ if f"`{name}" not in text] == ["Cli"]
    assert all(getattr(doorward_testing, name) for name in doorward_testing.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        doorward_testing.nope  # type: ignore[attr-defined]  # noqa: B018


def test_the_pytest_plugin_imports_nothing(tmp_path: Path) -> None:
    """Coverage sees how Doorward is imported, though pytest has loaded the plugin before."""
    code = "import sys, doorward_testing.plugin; print(*(m for m in sys.modules if m.partition('.')[0] == 'doorward'))"
    assert run("-c", code, folder=tmp_path).stdout.split() == []


@pytest.mark.anyio
async def test_a_host_has_what_is_installed_in_it(doorward_host: Host) -> None:
    """And nothing of the machine."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert {entry.name for entry in gate.plugins.index.entries} == {"fake", "inprocess"}
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).value["high"] == 20.5
    doorward_host.install("plugin", "broken", ImportError("no module"))
    with pytest.raises(Exception, match=r"broken' of test-plugin 1\.0 does not import"):
        async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["broken"]')):
            pass


def test_a_command_line(cli: Cli, doorward_host: Any) -> None:
    """It runs in the host's folder; how it ended and what it wrote are there."""
    doorward_host.write(CONFIG)
    assert [server["name"] for server in cli("list", "--json").json["servers"]] == ["weather"]
    ended = cli("nope")
    assert (ended.code, ended.out, "there is no command 'nope'" in ended.err) == (2, "", True)
