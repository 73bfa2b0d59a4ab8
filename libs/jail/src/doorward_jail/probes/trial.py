"""One trial: a program that tries what must not work, and how the host judges its result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward import DoorwardError, Failure, Limits

TRIAL_SECONDS = 20.0
"""Seconds that one probe may take."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a trial is made for. `token` is in the names of all that it leaves to be found; `scratch` are the bytes of
    files that a sandbox may have, `network` says that the operator gives programs one, `language` is that of the
    programs."""

    token: str
    limits: Limits
    scratch: int = 256 * 2**20
    network: bool = False
    language: str = "python"

    def written(self, python: str, javascript: str) -> str:
        """The program of a trial in the executor's language."""
        return python if self.language == "python" else javascript


@dataclass(frozen=True, slots=True)
class Trial:
    """A program and its parameters. `judge` returns a sentence on what did not hold, or ""; `well` is the sentence if
    all held. `limit` is a word in the message of the limit that should end the program."""

    code: str
    params: Mapping[str, Any]
    judge: Callable[[Any, DoorwardError | Failure | None], str]
    well: str
    limit: str = "-"
    seconds: float = TRIAL_SECONDS


MakeTrial = Callable[[Asked], AbstractContextManager[Trial]]
"""Opens on the host what a program is to reach, and closes it afterwards."""


@contextmanager
def open_folder(at: str = "/tmp") -> Iterator[Path]:  # noqa: S108
    """A folder in which every user of the host may read and write."""
    with TemporaryDirectory(prefix=f"doorward-{os.getpid()}-", dir=at if os.path.isdir(at) else None) as name:
        os.chmod(name, 0o777)  # noqa: S103
        yield Path(name)


def listed(value: Any) -> list[Any]:
    """The value of a program that reports a list; anything else is none."""
    return value if isinstance(value, list) else []


def told(what: str, found: Iterable[Any]) -> str:
    """A sentence that names what was found; "" if nothing was."""
    names = ", ".join(map(str, found))
    return f"a program {what} {names}" if names else ""
