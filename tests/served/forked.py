"""A project whose `doorward serve` and commands start without the second that each takes to import what all import: they
are forked from a process that has imported that, and done nothing else.

For tests of what a server answers. Where it is the process itself that a test is about, its signals, its memory and what
runs below it, the test starts it as users do.
"""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from .conftest import LIMITS, SHELF
from .product import Api, Project, end, until

CAN_FORK = hasattr(os, "pidfd_open") and "COVERAGE_PROCESS_CONFIG" not in os.environ
"""Only Linux tells of the end of a process in a file. Coverage is measured from the beginning of a process."""


class Forked(Project):
    """A project that starts them so. What it adds by `PYTHONPATH` replaces nothing that is imported before."""

    def command(self, *words: str) -> list[str]:
        command = super().command(*words)
        return [*_forked(), *command[3:]] if CAN_FORK else command

    @staticmethod
    def pid(command: int) -> int:
        """The process of a command, by that of its command line: that which a test kills, or looks into."""
        if not CAN_FORK:
            return command
        told = Path(f"{_address()}.{command}")
        assert until(lambda: told.exists() and told.read_text()), "it has not been forked"
        return int(told.read_text())


@pytest.fixture
def project(tmp_path: Path, api: Api) -> Project:
    """A project of one test's own, with the server `shelf`."""
    return Forked(tmp_path, LIMITS + SHELF.format(url=api.url))


@pytest.fixture(scope="module")
def shelf(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the server `shelf`, for all tests of a module."""
    return Forked(tmp_path_factory.mktemp("shelf"), LIMITS + SHELF.format(url=api.url))


def script(file: str | Path, *arguments: str) -> list[str]:
    """The command line of a file, seen from this one, which imports what Doorward does, or the SDK of MCP."""
    command = [str(Path(__file__).parent / file), *arguments]
    return [*_forked(), "--script", *command] if CAN_FORK else [sys.executable, *command]


def _forked() -> list[str]:
    return [sys.executable, "-IS", str(Path(__file__).with_name("forked_command.py")), _address()]


@functools.cache
def _address() -> str:
    """The socket of `forked_server.py`, which ends with our process."""
    folder = tempfile.TemporaryDirectory()  # is removed when our process ends
    atexit.register(folder.cleanup)
    address = str(Path(folder.name) / "s")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")}
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("forked_server.py")), address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
    )
    atexit.register(end, process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return address
