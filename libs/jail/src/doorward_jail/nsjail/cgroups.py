"""Finds where control groups can be made: version 1 has one hierarchy for each controller, version 2 one for all.

Sources: cgroups(7), Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from doorward import ExecutorError

from doorward_jail.owner import may_run

NAME = re.compile(r"doorward-(?P<pid>[1-9][0-9]*)-(?P<start>[0-9]+|unknown)-[0-9]+")
"""The name of one of our groups: the gateway's process id and start time, and a number."""
LEAF = "doorward-gateway"
"""The group into which a gateway moves itself in version 2: a group with limits below it may hold no processes."""
_MOUNT = re.compile(r"\S+ \S+ \S+ (?P<root>\S+) (?P<place>\S+) .* - (?P<type>cgroup2?) \S+ (?P<options>\S+)")


@dataclass(frozen=True, slots=True)
class Parents:
    """The folders in which the groups of sandboxes are made, by controller; in version 2 all are the same folder."""

    version: int
    folders: dict[str, Path]

    @property
    def text(self) -> str:
        return f"cgroup v{self.version} ({', '.join(map(str, dict.fromkeys(self.folders.values())))})"


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    version: int
    controllers: frozenset[str]
    mount: Path
    own: Path


def find(setting: str, *, cpu: bool, proc: Path = Path("/proc/self")) -> Parents | str:
    """The folders in which groups can be made, or a sentence that says why there are none. `setting` is "auto", "off"
    or the folder of a group that was delegated to Doorward (in version 1: its path below each hierarchy). Nothing is
    changed yet; see `prepare`.

    Raises: ExecutorError if groups are required (by a folder, or by `cpu`) and impossible: a configured limit is either
    enforced or refused with a reason, never dropped.
    """
    wanted = ("memory", "pids", *(("cpu",) if cpu else ()))
    found = "cgroups are switched off (`cgroup`)" if setting == "off" else _search(setting, wanted, proc)
    if isinstance(found, str) and (cpu or setting not in ("auto", "off")):
        what = "`cpus` needs cgroups" if setting in ("auto", "off") else f"`cgroup` {setting} cannot be used"
        raise ExecutorError(
            f"{what}: {found}",
            hint='Delegate a group (systemd: Delegate=yes), or remove `cpus` and set cgroup = "auto".',
        )
    return found


def _search(setting: str, wanted: Sequence[str], proc: Path) -> Parents | str:
    why = []
    hierarchies = list(_hierarchies(proc))
    if (v2 := next((h for h in hierarchies if h.version == 2), None)) and v2.controllers.issuperset(wanted):
        ours = v2.own.parent if v2.own.name == LEAF else v2.own  # started by a gateway that has already moved
        places = [Path(setting)] if setting != "auto" else [ours, *([v2.mount] if os.geteuid() == 0 else [])]
        for place in places:
            if not (reason := _unusable(place, v2, wanted)):
                return Parents(2, dict.fromkeys(wanted, place))
            why.append(reason)
    else:
        folders = {}
        for controller in wanted:
            one = next((h for h in hierarchies if h.version == 1 and controller in h.controllers), None)
            if one is None:
                return f"no cgroup hierarchy for {controller} is mounted"
            folders[controller] = place = one.own if setting == "auto" else one.mount / setting.lstrip("/")
            if not os.access(place, os.W_OK):
                return f"{place} is not writable"
        return Parents(1, folders)
    return "; ".join(why)


def _hierarchies(proc: Path) -> Iterator[_Hierarchy]:
    """The mounted hierarchies, and in each the group of this process."""
    own = {}
    for line in _lines(proc / "cgroup"):
        number, controllers, path = line.split(":", 2)
        own["" if number == "0" else controllers] = path  # version 2 is number 0
    for line in _lines(proc / "mountinfo"):
        if not (mount := _MOUNT.match(line)):
            continue
        place, root = Path(mount["place"]), mount["root"]
        if mount["type"] == "cgroup2":
            version, has, group = 2, frozenset(_lines(place / "cgroup.controllers", words=True)), own.get("")
        else:
            version, has = 1, frozenset(mount["options"].split(","))
            group = next((own[c] for c in own if c and has.issuperset(c.split(","))), None)
        if group is not None:
            below = os.path.relpath(group, root) if group.startswith(root) else "."
            yield _Hierarchy(version, has, place, place / below)


def _unusable(place: Path, v2: _Hierarchy, wanted: Sequence[str]) -> str:
    """Why no groups can be made below a group of version 2; empty if they can."""
    for file in (
        place,
        place / "cgroup.procs",
        place / "cgroup.subtree_control",
        _common(place, v2.own) / "cgroup.procs",
    ):
        if not os.access(file, os.W_OK):
            return f"{file} is not writable"
    if missing := set(wanted) - set(_lines(place / "cgroup.controllers", words=True)):
        return f"{place} has no controller {', '.join(sorted(missing))}"
    is_root = not (place / "cgroup.type").exists()
    if is_root or set(wanted) <= set(_lines(place / "cgroup.subtree_control", words=True)):
        return ""
    if strangers := [pid for pid in _lines(place / "cgroup.procs") if not _of_our_family(int(pid))]:
        return f"{place} holds processes that are not Doorward's ({', '.join(strangers[:3])})"
    return ""


def prepare(parents: Parents) -> None:
    """Prepare the parent groups. In version 2 their processes, which are this one and its relatives,
    move into a group below.

    Raises: OSError if the kernel refuses.
    """
    if parents.version == 1:
        return
    place = next(iter(parents.folders.values()))
    control = place / "cgroup.subtree_control"
    if set(parents.folders) <= set(_lines(control, words=True)):
        return
    if (place / "cgroup.type").exists():
        (place / LEAF).mkdir(exist_ok=True)
        for pid in _lines(place / "cgroup.procs"):
            (place / LEAF / "cgroup.procs").write_text(pid)
    control.write_text(" ".join(f"+{controller}" for controller in parents.folders))


def sweep(parents: Parents) -> None:
    """Remove the groups of gateways that are gone. A group that still holds processes stays:
    they end with their jail."""
    for place in dict.fromkeys(parents.folders.values()):
        for group in place.glob("doorward-*"):
            name = NAME.fullmatch(group.name)
            if name and not may_run(int(name["pid"]), name["start"]):
                try:
                    group.rmdir()
                except OSError:  # in use, or removed by another gateway
                    continue


def _of_our_family(pid: int) -> bool:
    """Whether this is the current process, one of its ancestors or one of its descendants."""
    return os.getpid() in _line_of(pid) or pid in _line_of(os.getpid())


def _line_of(pid: int) -> list[int]:
    line = [pid]
    while line[-1] > 1 and (stat := _stat(line[-1])):
        line.append(int(stat[1]))
    return line


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the command's name: state, parent, …"""
    text = next(iter(_lines(Path(f"/proc/{pid}/stat"))), "")
    return text.rpartition(")")[2].split()


def _common(one: Path, other: Path) -> Path:
    return Path(os.path.commonpath([one, other]))


def _lines(file: Path, *, words: bool = False) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    return text.split() if words else text.splitlines()
