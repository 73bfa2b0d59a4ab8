"""The index of installed and allowed plugins. It is read once, and imports none of them.

One pass over the installed distributions makes it. stevedore's own cache file is never read: it decides which code is
imported, anyone who can write to `~/.cache` can edit it, and it becomes stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, distributions
from typing import NamedTuple

GROUPS = {
    "source": "doorward.source",
    "auth": "doorward.auth",
    "cache": "doorward.cache",
    "executor": "doorward.executor",
    "plugin": "doorward.plugins",
    "command": "doorward.command",
    "distribution": "doorward.distro",
}
"""The kinds of plugins, and their entry-point groups."""


class Entry(NamedTuple):
    """An installed plugin and its distribution. (A dataclass would cost `doorward --help` 5 ms.)"""

    kind: str
    name: str
    point: EntryPoint
    distribution: str
    version: str

    @property
    def given_by(self) -> str:
        return f"{self.distribution} {self.version}"


class Index:
    """The plugins of this environment, sorted. Those that `allowed` refuses are set apart."""

    def __init__(self, entries: Iterable[Entry], allowed: Callable[[Entry], bool] = lambda entry: True) -> None:
        found = sorted(entries, key=lambda e: (e.kind, e.name, e.distribution))
        self.entries = [e for e in found if allowed(e)]
        self.refused = [e for e in found if not allowed(e)]

    def of(self, kind: str) -> list[Entry]:
        return [e for e in self.entries if e.kind == kind]

    def named(self, kind: str, name: str) -> list[Entry]:
        return [e for e in self.of(kind) if e.name == name]


def installed() -> list[Entry]:
    """All entry points in our groups. Of a distribution that is on the path twice (an editable install, a shadowed
    version) only the first counts, because Python would import that one."""
    kinds = {group: kind for kind, group in GROUPS.items()}
    found: dict[tuple[str, str, str], Entry] = {}
    for dist in distributions():
        if points := [point for point in dist.entry_points if point.group in kinds]:
            about = dist.metadata  # is read anew each time
            for point in points:
                entry = Entry(kinds[point.group], point.name, point, about["Name"], about["Version"])
                found.setdefault((entry.kind, entry.name, entry.distribution), entry)
    return list(found.values())
