"""Where and as whom the executor is tried: here, as an ordinary user, and where the kernel refuses jails."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import doorward
import doorward_jail
import doorward_sandbox_nsjail
import doorward_testing
import pytest

HERE = Path(__file__).parent
USER = 23456
"""An ordinary user's number that nobody has."""


def environment() -> dict[str, str]:
    """A small environment, in which another Python of the same version finds what this one has."""
    sources = [
        Path(module.__file__).parents[1]
        for module in (doorward, doorward_jail, doorward_sandbox_nsjail, doorward_testing)
    ]
    paths = dict.fromkeys([*(p for p in sys.path if p.endswith(("-packages", "/src"))), *map(str, sources)])
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(paths),
        "TMPDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@dataclass
class Who:
    """As whom a Python is started, and which one: the command line up to its arguments."""

    command: Sequence[str]
    options: dict[str, Any] = field(default_factory=dict)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*self.command, *arguments], env=environment(), cwd="/", text=True, **pipes, **self.options
        )

    def harness(self, *codes: str, **asked: Any) -> subprocess.Popen[str]:
        """Start `harness.py`."""
        return self.start(str(HERE / "harness.py"), json.dumps({"codes": codes, **asked}))

    def run(self, *codes: str, **asked: Any) -> list[dict[str, Any]]:
        """What the harness says of each program, and at last of the machine."""
        process = self.harness(*codes, **asked)
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture(scope="session")
def user() -> Who:
    """An ordinary user, and a Python that one can read."""
    if os.geteuid():
        return Who([sys.executable])
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        who = Who([python], {"user": USER, "group": USER, "extra_groups": []})
        with contextlib.suppress(OSError):
            if who.start("-c", "import doorward, doorward_sandbox_nsjail").wait() == 0:
                return who
    pytest.skip(f"{name} that an ordinary user can run is absent: there is none, or this folder cannot be read by one")


@pytest.fixture
def here() -> Who:
    return Who([sys.executable])
