"""What the first jail needs: an nsjail that works here, a Python, its packages, the
configuration, and control groups."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError, Limits
from doorward_jail import kafel_policy

from doorward_sandbox_nsjail import cgroups, packages
from doorward_sandbox_nsjail.binary import Nsjail, candidates
from doorward_sandbox_nsjail.groups import Groups
from doorward_sandbox_nsjail.interpreter import Interpreter, default_python, interpreter
from doorward_sandbox_nsjail.jail import launch
from doorward_sandbox_nsjail.policy import INSIDE, jail_config, packages_inside
from doorward_sandbox_nsjail.refusal import refused

if TYPE_CHECKING:
    from doorward_sandbox_nsjail.settings import NsjailSettings


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is known once a jail has really been started on this machine. `groups` is a sentence if there are none."""

    nsjail: Nsjail
    python: Interpreter
    config: str
    groups: Groups | str

    def zygote(self, limits: Limits) -> dict[str, Any]:
        """The limits that the zygote enforces, and what it must know about this machine
        (`doorward_jail.zygote_config`). If no control group counts memory, a program may have only one process, for
        address space is limited per process."""
        alone = isinstance(self.groups, str)
        return {
            "path": packages_inside(self.python),
            "memory": limits.memory_bytes if alone else 0,
            "one_process": alone,
            **({"uid": INSIDE, "gid": INSIDE} if os.geteuid() == 0 else {}),
            **({"env": {"LD_LIBRARY_PATH": str(self.python.library)}} if self.python.needs_path else {}),
        }


async def prepare(settings: NsjailSettings, state: Path) -> Prepared:
    """Find everything, and try it with a jail that ends at once.

    Raises: ExecutorError that says what is missing and what to do.
    """
    found = candidates(settings.nsjail)
    python = await with_packages(settings, state)
    config = jail_config(
        python,
        settings.paths,
        user=settings.user,
        seccomp=kafel_policy(),
        scratch=settings.scratch,
        inodes=settings.inodes,
    )
    first: ExecutorError | None = None
    for nsjail in found:
        error = await _tried(nsjail, python, config, settings.user)
        if error is None:
            return Prepared(nsjail, python, config, groups(settings))
        first = first or error
    assert first
    raise first


def groups(settings: NsjailSettings) -> Groups | str:
    """The control groups, ready for use and without leftovers of dead gateways; or the reason why there are none.

    Raises: ExecutorError if the settings require what is impossible.
    """
    with contextlib.suppress(
        ExecutorError
    ):  # with processor time, so that a sandbox with many threads gets no more than its share
        if not isinstance(found := _groups(settings, cpu=True), str):
            return found
    return _groups(settings, cpu=settings.cpus is not None)


def _groups(settings: NsjailSettings, *, cpu: bool) -> Groups | str:
    parents = cgroups.find(settings.cgroup, cpu=cpu)
    if isinstance(parents, str):
        return parents
    try:
        cgroups.prepare(parents)
    except OSError as error:
        if settings.cpus or settings.cgroup != "auto":
            raise ExecutorError(
                f"cgroups cannot be used: {error}", hint='Remove `cpus` and set cgroup = "auto".'
            ) from None
        return f"cgroups cannot be used: {error}"
    cgroups.sweep(parents)
    return Groups(parents, settings.cpus)


async def with_packages(settings: NsjailSettings, state: Path) -> Interpreter:
    """The configured Python, with the configured packages.

    Raises: ExecutorError if they are not built yet.
    """
    python = settings.python or default_python(settings.venv)
    if settings.venv:
        return await interpreter(python, settings.venv)
    found = await interpreter(python)
    if not settings.packages:
        return found
    folder = packages.place(state, found, settings.packages)
    if not packages.built(folder):
        raise ExecutorError(
            "the packages of the executor `nsjail` are not installed yet", hint="doorward sandbox build nsjail"
        )
    return await interpreter(python, folder)


async def _tried(nsjail: Nsjail, python: Interpreter, config: str, user: int) -> ExecutorError | None:
    """Why a jail cannot be started with this nsjail; `None` if it can."""
    try:
        jail = await launch(nsjail.path, config, [str(python.executable), "-I", "-S", "-c", "pass"])
    except OSError as error:
        return ExecutorError(
            f"{nsjail.path} cannot be started: {error}", hint="`nsjail` of [executors.nsjail] names another."
        )
    try:
        status = await jail.ended()
    finally:
        await jail.kill()
        jail.socket.close()
    return refused(nsjail.path, jail.said(), user) if status else None
