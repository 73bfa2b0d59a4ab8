"""A home with clients in it, and the command line in there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from doorward_testing import CommandEnded, Commands


@dataclass(frozen=True)
class Home:
    """A person's home, and a project in it that is the current folder."""

    folder: Path
    project: Path
    commands: Commands

    def write(self, name: str, content: Any) -> Path:
        """A file below the home; what is no text is written as JSON."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
        return file

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def run(self, *words: str, **environment: str) -> CommandEnded:
        """`doorward WORDS` in the project, with an environment that has nothing of ours."""
        environment = {
            "HOME": str(self.folder),
            "PATH": "/usr/bin:/bin",
            "DOORWARD_STATE_DIR": str(self.folder / "state"),
            **environment,
        }
        ended = self.commands.run(words, environment, self.project)
        assert "Traceback" not in ended.stderr, ended.stderr
        return CommandEnded(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


@pytest.fixture
def home(tmp_path: Path, commands: Commands) -> Home:
    made = Home(tmp_path / "home", tmp_path / "home/project", commands)
    made.project.mkdir(parents=True)
    return made
