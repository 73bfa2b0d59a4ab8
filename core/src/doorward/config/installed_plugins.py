"""The index of installed and allowed plugins. It is read once, and imports none of them.

One pass over the installed distributions makes it. stevedore's own cache file is never read: it decides which code is
imported, anyone who can write to `~/.cache` can edit it, and it becomes stale.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import NamedTuple

GROUPS = {
    "source": "doorward.source",
    "auth": "doorward.auth",
    "store": "doorward.store",
    "catalog": "doorward.catalog",
    "cache": "doorward.cache",
    "executor": "doorward.executor",
    "observer": "doorward.observer",
    "search_view": "doorward.search_view",
    "plugin": "doorward.plugins",
    "table": "doorward.table",
    "server_key": "doorward.server_key",
    "command": "doorward.command",
    "distribution": "doorward.distro",
    "configuration": "doorward.configuration",
}
"""The kinds of plugins, and their entry-point groups."""

_OTHER_WORDS = {
    "hooks": "plugin",
    "guard": "plugin",
    "sandbox": "executor",
    "secrets": "plugin",
    "search": "search_view",
    "view": "search_view",
    "storage": "store",
}
"""Words that authors write in place of a group's own, and the kinds that they mean."""


UNKNOWN = "unknown"
"""The name or version of a distribution that does not say it."""


class PluginId(NamedTuple):
    """What messages call a plugin."""

    kind: str
    name: str
    given_by: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}" + (f" of {self.given_by}" if self.given_by else "")

    @property
    def log_fields(self) -> dict[str, str]:
        """What log lines say of it."""
        return {"plugin": self.name, "kind": self.kind, "distribution": self.given_by}


class Entry(NamedTuple):
    """An installed plugin and its distribution; `kind` is the group where that is none of ours. (A dataclass would cost
    `doorward --help` 5 ms.)"""

    kind: str
    name: str
    point: EntryPoint
    distribution: str
    version: str

    @property
    def given_by(self) -> str:
        return f"{self.distribution} {self.version}"

    @property
    def place(self) -> str:
        """The folder in which its distribution is described."""
        return os.path.realpath(str(getattr(self.point.dist, "_path", "")))

    @property
    def id(self) -> PluginId:
        return PluginId(self.kind, self.name, self.given_by)


class Index:
    """The plugins of this environment, sorted. Those that `allowed` refuses are set apart; `why` says why. So are the
    `stray` ones, whose entry-point group is like ours and is none of them: nothing ever looks for a plugin there.
    `check` is called before any plugin is imported, and raises if what is installed is not what it should be."""

    def __init__(
        self,
        entries: Iterable[Entry],
        allowed: Callable[[Entry], bool] = lambda entry: True,
        *,
        why: Callable[[Entry], str] = lambda entry: "what manages it",
        check: Callable[[], None] = lambda: None,
    ) -> None:
        every = sorted(entries, key=lambda e: (e.kind, e.name, e.distribution))
        found = [e for e in every if e.kind in GROUPS]
        self.stray = [e for e in every if e.kind not in GROUPS]
        self.entries = [e for e in found if allowed(e)]
        self.refused = [e for e in found if not allowed(e)]
        self._named: dict[tuple[str, str], list[Entry]] = {}
        for entry in self.entries:
            self._named.setdefault((entry.kind, entry.name), []).append(entry)
        self.why = why
        self.check = check

    def of(self, kind: str) -> list[Entry]:
        return [e for e in self.entries if e.kind == kind]

    def named(self, kind: str, name: str) -> list[Entry]:
        return self._named.get((kind, name), [])

    def of_owner(self, entry: Entry) -> list[Entry]:
        """The hook plugins to which a table or a key of servers may belong: those of its distribution, or the one of
        them that is called like it."""
        plugins = [each for each in self.of("plugin") if each.distribution == entry.distribution]
        return [each for each in plugins if each.name == entry.name] or plugins


def canonical(name: str) -> str:
    """The name of a distribution as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def near_group(group: str) -> str:
    """The group that was meant by one that does not exist; "" if that cannot be told."""
    from difflib import get_close_matches  # late, because `doorward --help` does not need it

    words = {name.partition(".")[2]: name for name in GROUPS.values()} | GROUPS
    words |= {word: GROUPS[kind] for word, kind in _OTHER_WORDS.items()}
    near = get_close_matches(group.lower().removeprefix("doorward."), words, n=1)
    return words[near[0]] if near else ""


def installed() -> list[Entry]:
    """All entry points in our groups, and in groups whose names begin like ours. Of a distribution that is on the path
    twice (an editable install, a shadowed version) only the first counts, because Python would import that one; but of
    what manages the configuration each counts, for a copy may name another module. They are read again when a folder of
    the path has changed: a start asks four times, and reads all that is installed."""
    return [*_installed(tuple(map(_state_of, sys.path)))]


def _state_of(folder: str) -> tuple[str, int]:
    """A folder of the path, and when something in it was last installed or removed."""
    try:
        return folder, os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return folder, 0


@lru_cache(1)
def _installed(path: tuple[tuple[str, int], ...]) -> tuple[Entry, ...]:
    kinds = {group: kind for kind, group in GROUPS.items()}
    found: dict[tuple[str, str, str, str], Entry] = {}
    for dist in distributions():
        if points := [point for point in dist.entry_points if point.group.startswith("doorward.")]:
            by, version = _name_and_version(dist)
            for point in points:
                entry = Entry(kinds.get(point.group, point.group), point.name, point, by, version)
                copy = entry.place if entry.kind == "configuration" else ""
                found.setdefault((entry.kind, entry.name, entry.distribution, copy), entry)
    return tuple(found.values())


def _name_and_version(dist: Distribution) -> tuple[str, str]:
    """What the head of its metadata says. (`dist.metadata` parses the README below it, too: that was most of a start's
    time.)"""
    head = (dist.read_text("METADATA") or dist.read_text("PKG-INFO") or "").partition("\n\n")[0]
    name, version = (re.search(rf"^{field}:(.*)", head, re.MULTILINE | re.IGNORECASE) for field in ("Name", "Version"))
    return (name and name[1].strip()) or UNKNOWN, (version and version[1].strip()) or UNKNOWN
