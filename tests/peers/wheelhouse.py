"""Wheels of all distributions, and those of the libraries that they need, which `.ci/peers` fetched."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from served.environment import wheels
from uv import find_uv_bin

from distributions import distributions

from .peer import CACHE, ROOT, absent

OTHERS = CACHE / "wheels"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def ours(into: Path) -> Path:
    """A folder with the wheels of all distributions, but no sdists: nothing is built where they are installed."""
    if not (OTHERS / "ready").is_file():
        absent("the wheels of libraries")
    return wheels([str(one.folder.relative_to(ROOT)) for one in distributions()], into)


def others(python: str, into: Path) -> Path:
    """The wheels of libraries that a Python of this version can use, linked into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    tags = {f"-cp{each.replace('.', '')}-" for each in PYTHONS if each != python}
    for wheel in OTHERS.glob("*.whl"):
        if not any(tag in wheel.name.replace("cp311-abi3", "abi3") for tag in tags):
            (into / wheel.name).hardlink_to(wheel) if into.stat().st_dev == OTHERS.stat().st_dev else shutil.copy(
                wheel, into
            )
    return into


def python(version: str) -> str:
    """The path of a Python of this machine; `""` if it has none of this version. pyenv's own are asked for, too: what it
    puts on the PATH may refuse to start."""
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [str(path) for path in sorted(roots.glob(f"{version}.*/bin/python{version}"))]
    for wanted in (version, *found):
        command = [find_uv_bin(), "python", "find", "--no-python-downloads", "--no-project", wanted]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout.strip()
    return ""
