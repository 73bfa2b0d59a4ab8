"""The control groups of sandboxes: made with limits, asked whether a limit was reached, and removed.

A group counts, and isolates nothing. So the next sandbox may have the group of one that has ended, if that left nothing
in it: the kernel takes longer for a new one than for all the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doorward import ExecutorError, Limits

from doorward_jail.nsjail import cgroups
from doorward_jail.nsjail.cgroups import Parents
from doorward_jail.owner import start_time

_NUMBERS = itertools.count()
"""Numbers for the names of groups: one process may have several gateways."""

_CPU_PERIOD_MICROSECONDS = 100_000
"""The period over which processor time is counted."""

_LEFT_BYTES = 4 * 2**20
"""What the kernel may still count in a group without processes, which is used again: its own memory, for example."""

_MOST_FREE = 16
"""Groups that wait to be used again."""


@dataclass
class Groups:
    """All groups of one executor. `cpus` is how many processors one sandbox may use; `None`: all."""

    parents: Parents
    cpus: float | None = None
    _open: set[Path] = field(default_factory=set)
    _free: list[Group] = field(default_factory=list)
    """Groups without processes, to be used again."""
    _leftovers: list[Path] = field(default_factory=list)
    """Groups that the kernel still counted as in use when they were closed: their removal is tried
    again with the next one."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def begin(self, pid: int, limits: Limits) -> Group:
        """As `make`, in a thread: the kernel may wait for all processors before it moves a process."""
        return await asyncio.to_thread(self.make, pid, limits)

    def make(self, pid: int, limits: Limits) -> Group:
        """Make a group with these limits, or take a free one, and put a process into it; what that process starts from
        now on is in it too.

        Raises: ExecutorError if the kernel refuses.
        """
        self._retry()
        group = self._kept(limits)
        try:
            group = group or self._new(limits)
            for folder in group.folders:
                (folder / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            if group is not None:
                group.remove()
            raise ExecutorError(
                f"a sandbox could not be limited by its cgroup: {error}", hint="`doorward doctor` shows its state."
            ) from None
        return group

    def _new(self, limits: Limits) -> Group:
        name = f"doorward-{os.getpid()}-{start_time(os.getpid())}-{next(_NUMBERS)}"
        by_controller = {controller: folder / name for controller, folder in self.parents.folders.items()}
        group = Group(self, by_controller, limits)
        try:
            for folder in group.folders:
                folder.mkdir()
                self._open.add(folder)
            for file, value in _settings(by_controller, self.parents.version, limits, self.cpus):
                file.write_text(value)
        except OSError:
            group.remove()
            raise
        return group

    def _kept(self, limits: Limits) -> Group | None:
        with self._lock:
            for at, free in enumerate(self._free):
                if (free.limits.memory_bytes, free.limits.processes) == (limits.memory_bytes, limits.processes):
                    del self._free[at]
                    return Group(self, free.by_controller, limits)
        return None

    def keep(self, group: Group) -> bool:
        """Keep a group whose sandbox has ended for another one. Returns: whether it is kept."""
        with self._lock:
            if kept := len(self._free) < _MOST_FREE:
                self._free.append(group)
        return kept

    def close(self) -> None:
        """Remove all groups; their jails are gone. Waits up to ten seconds for the kernel to notice that processes have
        ended. Also of a gateway that was killed, whose processes may have been there still when this one started."""
        cgroups.sweep(self.parents)
        end = time.monotonic() + 10
        self._free.clear()
        self._leftovers += self._open
        while self._leftovers and time.monotonic() < end:
            self._retry()
            time.sleep(0.01 if self._leftovers else 0)

    def _retry(self) -> None:
        with self._lock:
            folders, self._leftovers = self._leftovers, []
        for folder in folders:
            self.remove(folder)

    def remove(self, folder: Path) -> None:
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            with self._lock:
                self._leftovers.append(folder)
        self._open.discard(folder)


class Group:
    """The control group of one sandbox (`Isolated.account`)."""

    def __init__(self, groups: Groups, by_controller: dict[str, Path], limits: Limits) -> None:
        self._groups = groups
        self.by_controller = by_controller
        self.limits = limits
        self._is_open = True
        self.folders: Sequence[Path] = tuple(dict.fromkeys(by_controller.values()))

    async def reached(self) -> list[str]:
        """The limits that were reached so far: "memory" (the kernel killed a process for it),
        "processes" (it refused one)."""
        return self._reached()

    def _reached(self) -> list[str]:
        file = "memory.oom_control" if self._groups.parents.version == 1 else "memory.events"
        counts = {
            "memory": _count(self.by_controller["memory"] / file, "oom_kill"),
            "processes": _count(self.by_controller["pids"] / "pids.events", "max"),
        }
        return [name for name, count in counts.items() if count]

    async def close(self) -> None:
        """Leave the group to another sandbox, or remove it; its processes are gone. Idempotent."""
        if self._is_open:
            self._is_open = False
            if not (self._is_clean() and self._groups.keep(self)):
                self.remove()

    def _is_clean(self) -> bool:
        """Whether nothing is left of its sandbox: no process, no limit that was reached, no memory in use. A jail that
        has just died may still be killing its processes."""
        file = "memory.usage_in_bytes" if self._groups.parents.version == 1 else "memory.current"
        try:
            left = int((self.by_controller["memory"] / file).read_text(encoding="ascii"))
            lives = any((folder / "cgroup.procs").read_text(encoding="ascii").strip() for folder in self.folders)
        except (OSError, ValueError):
            return False
        return left < _LEFT_BYTES and not lives and not self._reached()

    def remove(self) -> None:
        for folder in self.folders:
            self._groups.remove(folder)


def _settings(groups: dict[str, Path], version: int, limits: Limits, cpus: float | None) -> list[tuple[Path, str]]:
    """The files and what is written into them, in this order."""
    memory, pids = groups["memory"], groups["pids"]
    settings = [(pids / "pids.max", str(limits.processes))]
    if version == 1:
        settings.append((memory / "memory.limit_in_bytes", str(limits.memory_bytes)))
        swap = (memory / "memory.memsw.limit_in_bytes", str(limits.memory_bytes))  # memory and swap together
    else:
        settings += [(memory / "memory.max", str(limits.memory_bytes)), (memory / "memory.oom.group", "1")]
        swap = (memory / "memory.swap.max", "0")
    if swap[0].exists():  # absent where the kernel does not count swap
        settings.append(swap)
    if cpus:
        cpu, quota, period = groups["cpu"], int(cpus * _CPU_PERIOD_MICROSECONDS), _CPU_PERIOD_MICROSECONDS
        if version == 1:
            settings += [(cpu / "cpu.cfs_period_us", str(period)), (cpu / "cpu.cfs_quota_us", str(quota))]
        else:
            settings.append((cpu / "cpu.max", f"{quota} {period}"))
    return settings


def _count(file: Path, name: str) -> int:
    with contextlib.suppress(OSError):
        return sum(
            int(line.split()[1]) for line in file.read_text(encoding="ascii").splitlines() if line.split()[0] == name
        )
    return 0
