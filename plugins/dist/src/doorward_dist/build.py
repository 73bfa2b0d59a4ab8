"""Makes the wheel of a distribution: its manifest with the hashes of what it pins, and its own hook plugins."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doorward import ConfigError

from doorward_dist import wheels
from doorward_dist.lock import needs
from doorward_dist.settings import check_names, check_paths, check_tables
from doorward_dist.source import FILE, Source
from doorward_dist.wheels import Wheel

FIRST_DAY_OF_ZIP = "315532800"
"""Seconds of 1980-01-01, the time of all files in the wheel: the same source makes the same wheel."""


def build(folder: Path, source: Source, into: Path, links: Sequence[Path]) -> tuple[Path, list[str]]:
    """Build the wheel of the distribution whose source lies in `folder`. `links`: folders with wheels of what it pins.

    Returns: the wheel, and what could not be checked. Raises: ConfigError.
    """
    wheels.require("hatchling")
    wheels.require("tomlkit")
    check_paths(source, folder)
    unchecked = check_tables(source)
    with tempfile.TemporaryDirectory() as temporary:
        pinned = wheels.download(source.distribution.plugins, Path(temporary, "pinned"), links, alone=True)
        check_names(source, pinned.values())
        unchecked += _unpinned(pinned)
        project = Path(temporary, "project")
        _write_project(project, folder, source, pinned)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(Path(temporary, "made"))]
        with _fixed_time():
            wheels.run(command, "Fix what it says in the files below src.", project)
        made = next(Path(temporary, "made").glob("*.whl"))
        into.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(made, into / made.name)), unchecked


def _unpinned(pinned: Mapping[str, Wheel]) -> list[str]:
    """Packages of Doorward that pinned ones need, and that are not pinned."""
    found = {need: name for name, wheel in sorted(pinned.items()) for need in needs(wheel.requires)}
    return [
        f"{need}, which {name} needs and nothing pins: its files are not compared at a start"
        for need, name in sorted(found.items())
        if need.startswith("doorward") and need not in pinned
    ]


def _write_project(project: Path, folder: Path, source: Source, pinned: Mapping[str, Wheel]) -> None:
    """Write a project that hatchling builds."""
    import tomlkit

    about = source.distribution
    package = project / "src" / about.package
    if (own := folder / "src").is_dir():
        shutil.copytree(own, package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    package.mkdir(parents=True, exist_ok=True)
    if (package / "distro.toml").exists():
        raise ConfigError(
            "is written by the build", place=str(own / "distro.toml"), hint=f"Its tables belong in {FILE}."
        )
    for name, target in about.hooks.items():
        module = target.partition(":")[0]
        if not (package / f"{module}.py").is_file() and not (package / module / "__init__.py").is_file():
            raise ConfigError(f"src has no module {module!r}", place=f"{FILE} [distribution.hooks] {name}")
    if not (package / "__init__.py").exists():
        (package / "__init__.py").write_text(f'"""{about.name}: a distribution of Doorward."""\n', encoding="utf-8")
    manifest = tomlkit.parse((folder / FILE).read_text(encoding="utf-8"))
    del manifest["distribution"]
    manifest["files"] = {name: wheel.files_hash for name, wheel in sorted(pinned.items())}
    (package / "distro.toml").write_text(tomlkit.dumps(manifest), encoding="utf-8")
    (project / "pyproject.toml").write_text(tomlkit.dumps(_pyproject(source, folder, project)), encoding="utf-8")


def _pyproject(source: Source, folder: Path, project: Path) -> dict[str, Any]:
    about = source.distribution
    points = {"doorward.distro": {about.name: about.package}}
    if about.hooks:
        points["doorward.plugins"] = {name: f"{about.package}.{target}" for name, target in about.hooks.items()}
    found: dict[str, Any] = {
        "name": about.name,
        "version": about.version,
        "description": about.description,
        "requires-python": about.python,
        "dependencies": sorted(str(pin) for pin in about.pins),
        "entry-points": points,
    }
    if (folder / "README.md").is_file():
        shutil.copy(folder / "README.md", project / "README.md")
        found["readme"] = "README.md"
    return {
        "build-system": {"requires": ["hatchling"], "build-backend": "hatchling.build"},
        "project": found,
        "tool": {"hatch": {"build": {"targets": {"wheel": {"packages": [f"src/{about.package}"]}}}}},
    }


@contextmanager
def _fixed_time() -> Iterator[None]:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = given or FIRST_DAY_OF_ZIP
    try:
        yield
    finally:
        if given is None:
            del os.environ["SOURCE_DATE_EPOCH"]
