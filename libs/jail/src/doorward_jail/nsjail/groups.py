"""The control groups of sandboxes: made with limits, asked whether a limit was reached, and removed."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doorward import ExecutorError, Limits

from doorward_jail.nsjail.cgroups import Parents
from doorward_jail.owner import start_time

_NUMBERS = itertools.count()
"""Numbers for the names of groups: one process may have several gateways."""

_CPU_PERIOD_MICROSECONDS = 100_000
"""The period over which processor time is counted."""


@dataclass
class Groups:
    """All groups of one executor. `cpus` is how many processors one sandbox may use; `None`: all."""

    parents: Parents
    cpus: float | None = None
    _open: set[Path] = field(default_factory=set)
    _leftovers: list[Path] = field(default_factory=list)
    """Groups that the kernel still counted as in use when they were closed: their removal is tried
    again with the next one."""

    def make(self, pid: int, limits: Limits) -> Group:
        """Make a group with these limits, and put a process into it; what that process starts from now on is in it too.

        Raises: ExecutorError if the kernel refuses.
        """
        self._retry()
        name = f"doorward-{os.getpid()}-{start_time(os.getpid())}-{next(_NUMBERS)}"
        group = Group(self, {controller: folder / name for controller, folder in self.parents.folders.items()})
        try:
            for folder in group.folders:
                folder.mkdir()
                self._open.add(folder)
            for file, value in _settings(group.by_controller, self.parents.version, limits, self.cpus):
                file.write_text(value)
            for folder in group.folders:
                (folder / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            group.remove()
            raise ExecutorError(
                f"a sandbox could not be limited by its cgroup: {error}", hint="`doorward doctor` shows its state."
            ) from None
        return group

    def close(self) -> None:
        """Remove all groups; their jails are gone. Waits up to a second for the kernel to notice
        that processes have ended."""
        end = time.monotonic() + 1
        self._leftovers += self._open
        while self._leftovers and time.monotonic() < end:
            self._retry()
            time.sleep(0.01 if self._leftovers else 0)

    def _retry(self) -> None:
        folders, self._leftovers = self._leftovers, []
        for folder in folders:
            self.remove(folder)

    def remove(self, folder: Path) -> None:
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            self._leftovers.append(folder)
        self._open.discard(folder)


class Group:
    """The control group of one sandbox (`Isolated.account`)."""

    def __init__(self, groups: Groups, by_controller: dict[str, Path]) -> None:
        self._groups = groups
        self.by_controller = by_controller
        self.folders: Sequence[Path] = tuple(dict.fromkeys(by_controller.values()))

    async def reached(self) -> list[str]:
        """The limits that were reached so far: "memory" (the kernel killed a process for it),
        "processes" (it refused one)."""
        file = "memory.oom_control" if self._groups.parents.version == 1 else "memory.events"
        counts = {
            "memory": _count(self.by_controller["memory"] / file, "oom_kill"),
            "processes": _count(self.by_controller["pids"] / "pids.events", "max"),
        }
        return [name for name, count in counts.items() if count]

    async def close(self) -> None:
        """Remove the group; its processes are gone. Idempotent."""
        self.remove()

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
