"""What `doorward plugin check` is to check: an installed plugin, or the folder of one that need not be installed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import Any

from doorward import ConfigError
from doorward.configuration import GROUPS, Entry, installed
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

KIND_OF = {group: kind for kind, group in GROUPS.items()}
OWNED = ("table", "server_key")
"""The kinds of what a hook plugin owns in the configuration."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A distribution and those of its entry points that are to be checked, in whatever group that looks like ours.

    `folder` is where its source lies; `None` for an installed one.
    """

    distribution: str
    version: str
    points: tuple[EntryPoint, ...]
    requires: tuple[str, ...]
    requires_python: str
    folder: Path | None = None


def candidate(target: str) -> Candidate:
    """The plugins that a PATH or a NAME means. Raises: ConfigError."""
    folder = Path(target)
    if (folder / "pyproject.toml").is_file():
        return _of_folder(folder)
    found = _by_name(target)
    if folder.exists() and not found:
        raise ConfigError(f"{target} has no pyproject.toml", hint="Name the folder of a plugin, or an installed one.")
    return _of_name(target, found)


def _of_folder(folder: Path) -> Candidate:
    file = folder / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None
    if not isinstance(project, dict) or not isinstance(project.get("name"), str):
        raise ConfigError(
            f"{file} has no [project] with a name",
            hint="Metadata in another form is read once it is installed: pip install it, and name the distribution.",
        )
    try:
        canonicalize_name(project["name"], validate=True)
    except InvalidName:
        raise ConfigError(f"{file}: {project['name']!r} is no name for a distribution") from None
    if "entry-points" in _listed(project.get("dynamic")):
        raise ConfigError(
            f"{file}: the entry points are made when it is built", hint="Install it, and check the distribution."
        )
    groups = project.get("entry-points", {})
    points = [
        EntryPoint(name, value, group)
        for group, named in (groups.items() if isinstance(groups, dict) else ())
        for name, value in (named.items() if isinstance(named, dict) else ())
        if isinstance(value, str)
    ]
    return Candidate(
        project["name"],
        _version(project.get("version")),
        tuple(_ours(points)),
        tuple(" ".join(str(one).split()) for one in _listed(project.get("dependencies"))),
        str(project.get("requires-python", "")),
        folder.resolve(),
    )


def _version(text: Any) -> str:
    """The version; "0" for one that is made when it is built."""
    try:
        return str(Version(str(text)))
    except InvalidVersion:
        return "0"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _of_name(target: str, found: list[Entry]) -> Candidate:
    """Raises: ConfigError."""
    if len({entry.distribution for entry in found}) == 1:
        one = next(dist for dist in distributions() if dist.metadata["Name"] == found[0].distribution)
        wanted = {(entry.point.group, entry.name) for entry in found}
        return _of_installed(one, [point for point in _ours(one.entry_points) if (point.group, point.name) in wanted])
    if found:
        each = ", ".join(f"{entry.kind}/{entry.name} of {entry.distribution}" for entry in found)
        raise ConfigError(f"{target!r} means several plugins: {each}", hint="Name the kind too, or the distribution.")
    for dist in distributions():
        if canonicalize_name(dist.metadata["Name"] or "") == canonicalize_name(target):
            return _of_installed(dist, [*_ours(dist.entry_points)])
    names = {name for entry in installed() for name in (entry.name, entry.distribution)}
    near = get_close_matches(target, sorted(names), n=1)
    raise ConfigError(
        f"no plugin and no distribution {target!r} is installed",
        hint=f"Did you mean {near[0]!r}?"
        if near
        else "`doorward plugins` lists what is; a folder is named by its path.",
    )


def _by_name(target: str) -> list[Entry]:
    """The installed plugins that are called `NAME`, or `KIND/NAME`, and those of the distribution of that name."""
    kind, _, name = target.rpartition("/")
    entries = installed()
    return [e for e in entries if e.name == name and (not kind or e.kind == kind)] or [
        e for e in entries if canonicalize_name(e.distribution) == canonicalize_name(target)
    ]


def _of_installed(dist: Distribution, points: list[EntryPoint]) -> Candidate:
    about = dist.metadata
    return Candidate(
        about["Name"], about["Version"], tuple(points), tuple(dist.requires or ()), about["Requires-Python"] or ""
    )


def _ours(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    """The entry points whose group is ours, or is meant to be."""
    return [p for p in points if "doorward" in p.group.lower() or get_close_matches(p.group, KIND_OF, cutoff=0.8)]
