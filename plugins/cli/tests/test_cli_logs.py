"""What the command line logs, where it cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    """Where standard error is a file on a full disk, events are lost, and nothing else: an event is no reason to
    fail."""
    code = "from doorward_cli import logs\nfrom doorward.configuration import Secrets\n"
    code += "logs.configure(Secrets(environ={}), 'debug')\n"
    code += "from doorward import log\nfor _ in range(3):\n    log.warning('x' * 10000)\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}print('done')"], stderr=full, stdout=subprocess.PIPE, text=True, check=False
        )
    assert done.stdout == "done\n"
