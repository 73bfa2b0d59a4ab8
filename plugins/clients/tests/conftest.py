"""A home with clients in it, and the command line in there."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class ProgramResult:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Home:
    """A person's home, and a project in it that is the current folder."""

    folder: Path
    project: Path

    def write(self, name: str, content: Any) -> Path:
        """A file below the home; what is no text is written as JSON."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
        return file

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def run(self, *words: str, **environment: str) -> ProgramResult:
        """`doorward WORDS` in the project, with an environment that has nothing of ours."""
        environment = {
            "HOME": str(self.folder),
            "PATH": "/usr/bin:/bin",
            "DOORWARD_STATE_DIR": str(self.folder / "state"),
            **environment,
        }
        command = [sys.executable, "-m", "doorward.cli", *words]
        done = subprocess.run(command, cwd=self.project, env=environment, capture_output=True, text=True, timeout=60)
        assert "Traceback" not in done.stderr, done.stderr
        return ProgramResult(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home", tmp_path / "home/project")
    made.project.mkdir(parents=True)
    return made
