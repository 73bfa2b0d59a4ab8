"""`Commands`: each command in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorward_testing import Commands

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


def test_a_command_ends_as_itself(commands: Commands, tmp_path: Path) -> None:
    """Its code, what it prints, and the folder that it works in."""
    environ = {"HOME": str(tmp_path), "DOORWARD_STATE_DIR": str(tmp_path / "state")}
    wrong = commands.run(["no-such-command"], environ, tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no-such-command" in wrong.stderr
    assert commands.run(["init"], environ, tmp_path).returncode == 0
    assert (tmp_path / "doorward.toml").exists()


def test_commands_share_nothing(commands: Commands, tmp_path: Path) -> None:
    """The variables of one are not the next one's."""
    (tmp_path / "mine.toml").write_text("")
    given = commands.run(["list"], {"HOME": str(tmp_path), "DOORWARD_CONFIG": "mine.toml"}, tmp_path)
    after = commands.run(["list"], {"HOME": str(tmp_path)}, tmp_path)
    assert (given.returncode, after.returncode) == (0, 2)
    assert "doorward init" in after.stderr


def test_of_another_python(tmp_path: Path) -> None:
    """The first words of its command line may be another one's."""
    with Commands(sys.executable, "-I") as commands:
        assert commands.run(["--version"], {}, tmp_path).stdout.startswith("doorward ")
