"""The command line as users and clients start it: a process of its own, with plugins found by their metadata."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doorward_testing import StartDoorward, ended

pytestmark = pytest.mark.slow

TOKEN = "s3cret-t0ken-of-the-weather"


def test_help_imports_nothing(start_doorward: StartDoorward) -> None:
    """`doorward --help` imports neither a command, click, pydantic, nor a plugin, though it lists what plugins
    bring."""
    code, out, err = ended(start_doorward("--help", python=("-v",)))
    assert (code, "poisoned" in out) == (0, True)
    imported = set(re.findall(r"^import '([\w.]+)'", err, re.MULTILINE))
    assert "doorward.config.installed_plugins" in imported
    heavy = {
        "click",
        "pydantic",
        "rich",
        "structlog",
        "mcp",
        "asyncio",
        "poison",
        "doorward.gateway",
        "doorward.config.config",
        "doorward_cli.shared",
    }
    assert not imported & heavy


def test_plugins_imports_none(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """`doorward plugins` knows of every plugin, and imports none, nor pydantic to read the configuration."""
    code, out, err = ended(start_doorward("plugins", python=("-v",)))
    assert code == 0
    assert "source\tfake\tdoorward-fake\t1.0\tactive\n" in out
    assert "auth\tpoison\tdoorward-fake\t1.0\tinstalled\n" in out
    assert not {"pydantic", "rich", "structlog", "mcp"} & set(re.findall(r"^import '([\w.]+)'", err, re.MULTILINE))
    assert not (tmp_path / "imported").exists()


def test_environment_names_the_configuration(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """`DOORWARD_CONFIG` is the configuration where no --config is given. CONTRACT: CLI-11."""
    (tmp_path / "doorward.toml").rename(tmp_path / "other.toml")
    code, out, _ = ended(start_doorward("list", DOORWARD_CONFIG="other.toml"))
    assert (code, out.startswith("weather\t8\t")) == (0, True)


def test_reader_that_goes_away(start_doorward: StartDoorward) -> None:
    """A pipe that nobody reads any more is no error message."""
    process = start_doorward("list", "weather")
    process.stdout.close()  # type: ignore[union-attr]
    err = process.stderr.read()  # type: ignore[union-attr]
    assert (process.wait(100), err) == (1, "")
