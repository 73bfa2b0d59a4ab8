"""What tests of several folders use. (Not in `tests/`: `core/tests` is a package of that name.)"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def docker_engine() -> Any:
    """The module `plugins/sandbox_docker/tests/engine.py`: real container engines."""
    if "docker_engine" not in sys.modules:
        file = Path(__file__).resolve().parent / "plugins/sandbox_docker/tests/engine.py"
        spec = spec_from_file_location("docker_engine", file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["docker_engine"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["docker_engine"]


class SmallDisk:
    """A folder on a disk of its own, of two megabytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Nothing more fits on it."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1024))
        try:
            yield
        finally:
            filler.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk that can be filled. Only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(folder)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if made.returncode:
        pytest.skip(f"no disk can be mounted here: {made.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S603, S607
