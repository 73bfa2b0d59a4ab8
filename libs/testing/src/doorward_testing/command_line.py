"""The result of a command line that a test runs in its own process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple


class CommandEnded(NamedTuple):
    """How a command line ended: its exit code, and what it wrote to standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., CommandEnded]
"""The fixture `cli`: `cli("list", "--json")`."""

StartDoorward = Callable[..., subprocess.Popen[str]]
"""The fixture `start_doorward`: `start_doorward("list", python=("-v",), VARIABLE="value")`."""


def ended(process: subprocess.Popen[str], stdin: str | None = None) -> CommandEnded:
    """What a process wrote until its end, which comes within 100 seconds."""
    try:
        out, err = process.communicate(stdin, timeout=100)
    finally:
        process.kill()
    return CommandEnded(process.returncode, out, err)
