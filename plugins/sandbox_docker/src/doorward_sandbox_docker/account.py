"""Which limits were reached in a container, as the kernel counts it for the container's cgroup."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import ExecutorError

if TYPE_CHECKING:
    from docker import APIClient
    from doorward_containers import Engine

_CGROUPS = Path("/sys/fs/cgroup")
_COUNTS = {
    "memory": ("oom_kill", "memory.events", "memory/memory.oom_control"),
    "processes": ("max", "pids.events", "pids/pids.events"),
}
"""For each limit: the word before the count, and the file that has it inside a container, in cgroup v2 and v1.
Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/{memory,pids}.rst of Linux.
"""

_CLOCKS_APART_SECONDS = 5
"""How far the engine's clock may be from ours; and how long at most to wait for the news that a container has ended."""


class Account:
    """Tells which limits were reached since the last time. It reads this machine's files if the container is on this
    machine; else a process in the container does. Of a container that has ended the engine knows what ended it."""

    def __init__(self, engine: Engine, id: str, pid: int, python: str) -> None:
        self._engine = engine
        self._id = id
        self._python = python
        self._files = list(_here(pid, id))
        self._seen: dict[str, int] = {}
        self._since = int(time.time()) - _CLOCKS_APART_SECONDS

    async def reached(self) -> list[str]:
        """The limits that were reached, of "memory" and "processes"; none if that cannot be known."""
        try:
            lines = _lines(self._files) if self._files else await self._engine.ask(self._asked)
        except (ExecutorError, OSError):
            return await self._at_its_end()
        counted: dict[str, int] = dict.fromkeys(_COUNTS, 0)
        for limit, word, count in (line for line in lines if len(line) == 3):
            if limit in _COUNTS and word == _COUNTS[limit][0] and count.isdecimal():
                counted[limit] += int(count)
        reached = [limit for limit, count in counted.items() if count > self._seen.get(limit, 0)]
        self._seen = counted
        return reached

    async def close(self) -> None:
        """Forget the counts, so that the next sandbox does not inherit them; not by a process in the container, which
        would cost every run too much."""
        if self._files:
            await self.reached()

    async def _at_its_end(self) -> list[str]:
        try:
            return await self._engine.ask(self._ended_by)
        except ExecutorError:
            return []

    def _ended_by(self, client: APIClient) -> list[str]:
        """What the engine has noted before the end of the container."""
        wanted = {"container": self._id, "event": ["oom", "die"]}
        until = int(time.time()) + _CLOCKS_APART_SECONDS
        for event in client.events(since=self._since, until=until, filters=wanted, decode=True):
            if event.get("Action") == "oom":
                return ["memory"]
            if event.get("Action") == "die":
                break
        return []

    def _asked(self, client: APIClient) -> list[list[str]]:
        run = client.exec_create(self._id, [self._python, "-ISc", _READ], stderr=False)["Id"]
        return [line.split() for line in client.exec_start(run).decode(errors="replace").splitlines()]


def _here(pid: int, id: str) -> Iterator[tuple[str, Path]]:
    """The files of the container's cgroups, if the container is on this machine and they are readable. Podman puts the
    processes into a group below the one with the limits, and newer kernels count a refused process where the limit is
    (Linux 6.11, pids.events)."""
    try:
        groups = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    except OSError:
        return
    for _, kinds, path in groups:
        for group in [
            group for group in (path[1:], os.path.dirname(path[1:])) if id in group
        ]:  # else another machine's process id
            for limit, (_, new, old) in _COUNTS.items():
                file = (
                    _CGROUPS / limit.replace("processes", "pids") / group / Path(old).name
                    if kinds
                    else _CGROUPS / group / new
                )
                if (not kinds or old.partition("/")[0] in kinds.split(",")) and file.is_file():
                    yield limit, file


def taken(client: APIClient, id: str, pid: int) -> int | None:
    """Bytes of memory that a container's processes use, without what the kernel can reclaim;
    `None` if that is unknown."""
    for file in [file for limit, file in _here(pid, id) if limit == "memory"]:
        counted = dict(line.split() for line in (file.parent / "memory.stat").read_text().splitlines())
        break
    else:  # asking the engine takes up to a second
        counted = client.stats(id, stream=False, one_shot=True)["memory_stats"].get("stats", {})
    found = counted.get("anon", counted.get("total_rss"))  # cgroup v2, v1
    return None if found is None else int(found)


def _lines(files: Iterable[tuple[str, Path]]) -> list[list[str]]:
    return [[limit, *line.split()] for limit, file in files for line in file.read_text().splitlines()]


_READ = f"""
for limit, (_, *files) in {_COUNTS!r}.items():
    for file in files:
        try:
            for line in open("{_CGROUPS}/" + file):
                print(limit, line.strip())
        except OSError:
            pass
"""
