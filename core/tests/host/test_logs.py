"""Logging where next to nothing works."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_PROGRAM = """
import resource
from doorward.host.logs import log

held = []
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
try:
    while True:
        held.append(open("/dev/null"))
except OSError:
    pass
log.warning("no_files", why="a secret")
log.log(30, "a library says a secret", logger="library")  # as messages of `logging` are handed on
held.clear()
log.warning("files_again", why="known")
"""


def test_an_event_is_written_though_no_file_can_be_opened() -> None:
    """structlog is imported with the first event, and cannot be then: the process must not end for that."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    first, of_library, second = done.stderr.splitlines()
    assert of_library.startswith("[log] 30 (details cannot be written:")
    assert first.startswith("[warning] no_files (details cannot be written:")
    assert "a secret" not in first + of_library
    assert "files_again" in second
    assert "known" in second
