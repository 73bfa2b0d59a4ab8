"""Where and as whom the executor is tried: here, as an ordinary user, and where the kernel refuses jails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import doorward
import doorward_sandbox_nsjail
import pytest

HERE = Path(__file__).parent
USER = 23456
"""An ordinary user's number that nobody has."""

Runs = Callable[..., list[dict[str, Any]]]


def absent(what: str) -> NoReturn:
    if os.environ.get("DOORWARD_PEERS") == "required":
        pytest.fail(what)
    pytest.skip(what)


def environment() -> dict[str, str]:
    """A small environment, in which another Python of the same version finds what this one has."""
    sources = [Path(module.__file__).parents[1] for module in (doorward, doorward_sandbox_nsjail)]
    paths = dict.fromkeys([*(p for p in sys.path if p.endswith("-packages")), *map(str, sources)])
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}


def as_user() -> list[str]:
    """The command line in front of another that runs it as an ordinary user, and the Python that this user can read."""
    if os.geteuid():
        return [sys.executable]
    change = [shutil.which("setpriv") or absent("setpriv is absent"), f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        tried = subprocess.run([*change, python, "-c", "import doorward"], env=environment(), cwd="/", capture_output=True)
        if tried.returncode == 0:
            return [*change, python]
    absent(f"no {name} that an ordinary user can run, or this folder cannot be read by one")


def started(before: Sequence[str], asked: dict[str, Any], **options: Any) -> subprocess.Popen[str]:
    """`harness.py`, started by the command line `before` it."""
    command = [*before, str(HERE / "harness.py"), json.dumps(asked)]
    return subprocess.Popen(command, env=environment(), cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


@pytest.fixture
def harness() -> Runs:
    """Runs programs in another process, and returns what it says of each, and at last of the machine."""

    def run(before: Sequence[str], *codes: str, **asked: Any) -> list[dict[str, Any]]:
        out, err = (process := started(before, {"codes": codes, **asked})).communicate(timeout=100)
        assert process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]

    return run


@pytest.fixture
def user() -> list[str]:
    return as_user()


@pytest.fixture
def here() -> list[str]:
    return [sys.executable]
