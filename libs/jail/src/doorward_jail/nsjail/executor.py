"""The base of executors whose jails nsjail makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from doorward import Limits, PluginContext

from doorward_jail.executor import JailExecutor
from doorward_jail.isolated import Account, Isolated
from doorward_jail.nsjail.settings import NsjailedSettings

if TYPE_CHECKING:
    from doorward_jail.nsjail.prepared import Prepared
    from doorward_jail.nsjail.shows import Shows

_MAX_SANDBOXES = 1000
"""Sandboxes in one jail at the same time: the real limit is the size of the pool."""


SettingsT = TypeVar("SettingsT", bound=NsjailedSettings)


class NsjailedExecutor(JailExecutor[SettingsT], Generic[SettingsT]):
    """Starts jails with nsjail, each with a zygote that serves many sandboxes. Say what they show (`shows`)."""

    Settings = NsjailedSettings

    threads = 0
    """Threads that a sandbox has before it runs any program, in addition to the limit of processes."""

    def __init__(self, context: PluginContext[SettingsT]) -> None:
        super().__init__(context)
        self._ready: Prepared | None = None
        self._preparing = asyncio.Lock()

    async def shows(self) -> Shows:
        """What a jail shows. Raises: ExecutorError that says what is missing."""
        raise NotImplementedError

    def zygote(self, limits: Limits, *, alone: bool) -> Mapping[str, Any]:
        """Keys of the zygote's configuration (`jail.zygote_config`). `alone`: no control group counts memory, so a
        program may have only one process, for address space is limited per process."""
        return {"memory": limits.memory_bytes if alone else 0, "one_process": alone}

    def alone(self, limits: Limits) -> Callable[[int], Account] | None:
        """What counts the use of a sandbox where no control group does; `None` if the zygote's limits are enough."""
        return None

    def held(self) -> str:
        """What counts memory and processes here: "cgroup", or "" for rlimits. Nothing is started for that."""
        from doorward_jail.nsjail import cgroups

        try:
            parents = cgroups.find(self.settings.cgroup, cpu=self.settings.cpus is not None)
        except Exception:  # reported when a program is run
            parents = ""
        return "cgroup" if isinstance(parents, cgroups.Parents) else ""

    async def start(self, command: Sequence[str], limits: Limits) -> Isolated:
        from doorward_jail.nsjail.launch import launch

        ready = await self._prepared()
        jail = await launch(ready.nsjail.path, ready.config, [str(ready.shows.python.executable), *command])
        groups = ready.groups
        counted = replace(limits, processes=limits.processes + self.threads)
        return Isolated(
            socket=jail.socket,
            kill=jail.kill,
            said=jail.said,
            passes_fds=True,
            room=_MAX_SANDBOXES,
            account=self.alone(limits) if isinstance(groups, str) else lambda pid: groups.begin(pid, counted),
            config={**ready.zygote, **self.zygote(limits, alone=isinstance(groups, str))},
        )

    async def check(self) -> Sequence[str]:
        """What is used on this machine. Starts one jail to see whether that works.

        Raises: ExecutorError that says what is refused or missing, and what to do.
        """
        ready = await self._prepared()
        groups = ready.groups
        return [
            ready.nsjail.text,
            *ready.shows.text,
            f"limits of memory and processes: rlimits and seccomp, for {groups}"
            if isinstance(groups, str)
            else f"limits: {groups.parents.text}",
        ]

    async def close(self) -> None:
        await super().close()
        if self._ready and not isinstance(self._ready.groups, str):
            await asyncio.to_thread(self._ready.groups.close)

    async def _prepared(self) -> Prepared:
        """Everything a jail needs, found and tried once. A failure is not remembered: what is missing may
        be there at the next run."""
        from doorward_jail.nsjail.prepared import prepare

        async with self._preparing:
            if self._ready is None:
                self._ready = await prepare(self.settings, self.context.name, await self.shows())
            return self._ready
