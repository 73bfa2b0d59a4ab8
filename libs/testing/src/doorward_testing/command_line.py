"""The result of a command line that a test runs in its own process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CommandEnded:
    """How a command line ended: its exit code, and what it wrote to standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., CommandEnded]
"""The fixture `cli`: `cli("list", "--json")`."""
