"""What is installed and allowed, read once; imports no plugin.

One pass over the installed distributions. stevedore's own cache file is never read: it decides what code is imported,
anyone who can write `~/.cache` can edit it, and it goes stale.
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
"""The kinds of plugins and their entry-point groups."""


class Entry(NamedTuple):
    """One plugin that is installed: what it is called, and which distribution brought it. (A dataclass would cost
    `doorward --help` 5 ms.)"""

    kind: str
    name: str
    point: EntryPoint
    distribution: str
    version: str

    @property
    def given_by(self) -> str:
        return f"{self.distribution} {self.version}"


class Index:
    """The plugins of this environment, sorted, without those that `allowed` refuses."""

    def __init__(self, entries: Iterable[Entry], allowed: Callable[[Entry], bool] = lambda entry: True) -> None:
        found = sorted(entries, key=lambda e: (e.kind, e.name, e.distribution))
        self.entries = [e for e in found if allowed(e)]
        self.refused = [e for e in found if not allowed(e)]

    def of(self, kind: str) -> list[Entry]:
        return [e for e in self.entries if e.kind == kind]

    def named(self, kind: str, name: str) -> list[Entry]:
        return [e for e in self.of(kind) if e.name == name]


def installed() -> list[Entry]:
    """Every entry point in a group of ours. What is found twice on the path (an editable install, a shadowed
    version) counts once, as Python would import it: the first."""
    kinds = {group: kind for kind, group in GROUPS.items()}
    found: dict[tuple[str, str, str], Entry] = {}
    for dist in distributions():
        for point in dist.entry_points:
            if point.group in kinds:
                entry = Entry(kinds[point.group], point.name, point, dist.name, dist.version)
                found.setdefault((entry.kind, entry.name, entry.distribution), entry)
    return list(found.values())
