"""A Python environment of its own: this repository's packages as wheels, and the libraries that are installed here."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = (
    "doorward",
    "_doorward",
    "acme",
    "__editable",
    "_editable",
    "_virtualenv",
    "__pycache__",
    "distutils-precedence",
)
"""How what lies in site-packages begins, and is not a library."""
BUILD = """
import sys
from hatchling.builders.wheel import WheelBuilder
for folder in sys.argv[2:]:
    print(*WheelBuilder(folder).build(directory=sys.argv[1]), sep="\\n")
"""


def build(folders: Iterable[Path], into: Path) -> list[Path]:
    """The wheels of folders, built now, in one process."""
    command = [sys.executable, "-c", BUILD, str(into), *map(str, folders)]
    return [Path(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


def wheels(folders: Iterable[str], into: Path) -> Path:
    """The wheels of folders of this repository: those that tox has built of them, else built now."""
    missing = []
    for folder in folders:
        package = "doorward" if folder == "core" else f"doorward_{Path(folder).name}"
        if built := [*Path(os.environ.get("WHEELS", into)).glob(f"{package}-[0-9]*.whl")]:
            shutil.copy(built[0], into)
        else:
            missing.append(ROOT / folder)
    build(missing, into)
    return into


class Environment:
    """A venv without pip. Folders of libraries are links, single files are copied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, symlinks=True)
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        asked = subprocess.run([self.python, "-I", "-c", ask], check=True, capture_output=True, text=True)
        self.site = Path(asked.stdout.strip())
        for there in Path(sysconfig.get_path("purelib")).iterdir():
            if there.name.startswith(OURS) or there.suffix in (".pth", ".egg-link"):
                continue
            if there.is_dir():
                (self.site / there.name).symlink_to(there)
            else:
                shutil.copy(there, self.site / there.name)

        for program in Path(sysconfig.get_path("scripts")).glob("monty*"):
            (self.python.parent / program.name).symlink_to(program)

    def install(self, wheel: Path) -> None:
        """Install a wheel as installers do: its files, and its RECORD."""
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)

    def uninstall(self, name: str) -> None:
        """Remove what the RECORD of a package lists, and what was compiled of it."""
        (info,) = self.site.glob(f"{name}-*.dist-info")
        with (info / "RECORD").open() as record:
            for path in {Path(row[0]).parts[0] for row in csv.reader(record) if row}:
                shutil.rmtree(self.site / path)

    def doorward(self, *words: str, isolated: bool = True) -> list[str]:
        """A command line of this environment's Doorward."""
        return [str(self.python), *(["-I"] if isolated else []), "-m", "doorward", *words]
