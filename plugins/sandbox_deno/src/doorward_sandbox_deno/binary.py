"""Which deno program is used: the configured one, or that of the wheel `deno`."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from doorward import ExecutorError

OLDEST = (2, 9)


@dataclass(frozen=True, slots=True)
class Deno:
    """A deno program, and what it says of itself."""

    path: Path
    version: str

    @property
    def text(self) -> str:
        return f"Deno {self.version} ({self.path})"


async def deno(setting: Path | None) -> Deno:
    """The program. Raises: ExecutorError if there is none, or it is too old."""
    path = setting or _of_the_wheel()
    try:
        asked = await asyncio.create_subprocess_exec(
            str(path), "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env={}
        )
        said, _ = await asked.communicate()
        version = said.decode(errors="replace").split()[1]
        numbers = tuple(map(int, version.split(".")[:2]))
    except (OSError, ValueError, LookupError) as error:
        raise ExecutorError(
            f"{path} cannot be used: {error}", hint="`deno` of [executors.deno] names another."
        ) from None
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ExecutorError(f"{path} is Deno {version}; {oldest} or newer is needed", hint="pip install --upgrade deno")
    return Deno(path.resolve(), version)


def _of_the_wheel() -> Path:
    try:
        from deno import find_deno_bin

        path = Path(os.fsdecode(find_deno_bin()))
    except (ImportError, FileNotFoundError):
        raise ExecutorError(
            "deno is not installed",
            hint="pip install deno (it brings the program), or name one: [executors.deno] deno.",
        ) from None
    return path
