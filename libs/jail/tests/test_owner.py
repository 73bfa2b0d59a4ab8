"""Whose a sandbox is, told by a process id and a time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorward_jail import may_run, owner, start_time

pytestmark = pytest.mark.slow

HIDDEN = """
mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 12345 --regid 12345 --clear-groups "$@"
"""
ASKED = """
import json, sys
pid = int(sys.argv[1])
print(json.dumps([Path(f"/proc/{pid}").exists(), start_time(pid), may_run(pid, "1"), may_run(2**22 + 1, "1")]))
"""


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as started:
        yield started
        started.kill()


def test_a_process_that_runs(process: subprocess.Popen[bytes]) -> None:
    """It may run as long as it does; another one of the same id is not it."""
    start = start_time(process.pid)
    assert start.isdecimal()
    assert may_run(process.pid, start)
    assert not may_run(process.pid, str(int(start) + 1))
    assert may_run(process.pid, "unknown")
    process.kill()
    process.wait()
    assert not may_run(process.pid, start)
    assert not may_run(process.pid, "unknown")
    assert not may_run(process.pid, "")


@pytest.mark.parametrize("pid", [2**22 + 1, 2**31, 2**63, 2**200])
def test_an_id_of_nobody(pid: int) -> None:
    """Whoever writes labels of containers writes what they want."""
    assert start_time(pid) in ("", "unknown")
    assert not may_run(pid, "1") or start_time(pid)


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0 or not shutil.which("setpriv"), reason="needs Linux, root and setpriv"
)
def test_a_process_that_is_hidden_may_run(process: subprocess.Popen[bytes]) -> None:
    """Where /proc shows nobody the processes of others, nobody's sandboxes are ended."""
    program = Path(owner.__file__).read_text(encoding="utf-8") + ASKED
    command = [
        "unshare",
        "--mount",
        "--fork",
        "sh",
        "-c",
        HIDDEN,
        "sh",
        "/usr/bin/python3",
        "-c",
        program,
        str(process.pid),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        pytest.skip(f"/proc cannot be mounted here: {done.stderr[-300:]}")
    seen, start, hidden, nobody = json.loads(done.stdout)
    assert not seen, "it is hidden"
    assert (start, hidden, nobody) == ("unknown", True, False)
