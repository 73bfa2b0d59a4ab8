"""A home with clients in it, and the command line in there."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
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


PREPARED = """
import atexit, gc, importlib, json, os, runpy, sys, traceback
import doorward.cli.common, doorward_clients.connect, doorward_clients.importing, doorward_clients.setup
for name in ("doorward.gateway", "doorward.policy.tables", "doorward_mcp_upstream.source", "mcp", "tomlkit"):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
gc.freeze()  # the children share what is there by now, and do not go through it at their ends

for line in sys.stdin:
    asked = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    for number, (name, flags) in enumerate([(os.devnull, os.O_RDONLY), *((name, os.O_WRONLY) for name in asked["out"])]):
        os.dup2(os.open(name, flags), number)
    sys.stdin = open(0, closefd=False)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv[1:] = asked["words"]
    code = 1
    try:
        runpy.run_module("doorward.cli", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
"""
"""A process that has imported what the commands need, of which each command is a child: to import it takes most of one."""


class Commands:
    """Runs `doorward`, each time in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._out = [folder / "out", folder / "err"]
        self._prepared: subprocess.Popen[str] | None = None

    def run(self, words: Sequence[str], folder: Path, environment: dict[str, str]) -> ProgramResult:
        if not hasattr(os, "fork"):
            command = [sys.executable, "-m", "doorward.cli", *words]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
            return ProgramResult(done.returncode, done.stdout, done.stderr)
        if self._prepared is None:
            command, pipes = [sys.executable, "-c", PREPARED], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._prepared = subprocess.Popen(command, env={"PATH": "/usr/bin:/bin"}, cwd="/", text=True, **pipes)
        assert self._prepared.stdin is not None
        assert self._prepared.stdout is not None
        for file in self._out:
            file.write_bytes(b"")
        asked = {"words": words, "folder": str(folder), "environment": environment, "out": [*map(str, self._out)]}
        print(json.dumps(asked), file=self._prepared.stdin, flush=True)
        code = int(self._prepared.stdout.readline())
        return ProgramResult(code, *(file.read_text(encoding="utf-8") for file in self._out))

    def close(self) -> None:
        if self._prepared is not None:
            self._prepared.communicate()


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

    def run(self, *words: str, **environment: str) -> ProgramResult:
        """`doorward WORDS` in the project, with an environment that has nothing of ours."""
        environment = {
            "HOME": str(self.folder),
            "PATH": "/usr/bin:/bin",
            "DOORWARD_STATE_DIR": str(self.folder / "state"),
            **environment,
        }
        ended = self.commands.run(words, self.project, environment)
        assert "Traceback" not in ended.err, ended.err
        return ended


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with contextlib.closing(Commands(tmp_path_factory.mktemp("commands"))) as commands:
        yield commands


@pytest.fixture
def home(tmp_path: Path, commands: Commands) -> Home:
    made = Home(tmp_path / "home", tmp_path / "home/project", commands)
    made.project.mkdir(parents=True)
    return made
