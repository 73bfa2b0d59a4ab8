"""What the first jail needs: an nsjail that works here, what the jail shows, the configuration, and control groups."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError

from doorward_jail.nsjail import cgroups
from doorward_jail.nsjail.binary import Nsjail, candidates
from doorward_jail.nsjail.groups import Groups
from doorward_jail.nsjail.launch import launch
from doorward_jail.nsjail.policy import INSIDE, jail_config, packages_inside
from doorward_jail.nsjail.refusal import refused
from doorward_jail.seccomp import kafel_policy

if TYPE_CHECKING:
    from doorward_jail.nsjail.settings import NsjailedSettings
    from doorward_jail.nsjail.shows import Shows


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is known once a jail has really been started on this machine. `groups` is a sentence if there are none."""

    nsjail: Nsjail
    shows: Shows
    config: str
    groups: Groups | str

    @property
    def zygote(self) -> dict[str, Any]:
        """What the zygote must know about this machine (`doorward_jail.zygote_config`)."""
        python = self.shows.python
        return {
            "path": packages_inside(python),
            **({"uid": INSIDE, "gid": INSIDE} if os.geteuid() == 0 else {}),
            **({"env": {"LD_LIBRARY_PATH": str(python.library)}} if python.needs_path else {}),
        }


async def prepare(settings: NsjailedSettings, name: str, shows: Shows) -> Prepared:
    """Find everything for the executor of this name, and try it with a jail that ends at once.

    Raises: ExecutorError that says what is missing and what to do.
    """
    config = jail_config(
        shows.python,
        shows.paths,
        name=name,
        shown=shows.others,
        user=settings.user,
        seccomp=kafel_policy(),
        scratch=settings.scratch,
        inodes=settings.inodes,
    )
    first: ExecutorError | None = None
    for nsjail in candidates(settings.nsjail, name):
        error = await _tried(nsjail, shows, config, settings.user, name)
        if error is None:
            return Prepared(nsjail, shows, config, groups(settings))
        first = first or error
    assert first
    raise first


def groups(settings: NsjailedSettings) -> Groups | str:
    """The control groups, ready for use and without leftovers of dead gateways; or the reason why there are none.

    Raises: ExecutorError if the settings require what is impossible.
    """
    with contextlib.suppress(
        ExecutorError
    ):  # with processor time, so that a sandbox with many threads gets no more than its share
        if not isinstance(found := _groups(settings, cpu=True), str):
            return found
    return _groups(settings, cpu=settings.cpus is not None)


def _groups(settings: NsjailedSettings, *, cpu: bool) -> Groups | str:
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


async def _tried(nsjail: Nsjail, shows: Shows, config: str, user: int, name: str) -> ExecutorError | None:
    """Why a jail cannot be started with this nsjail; `None` if it can."""
    try:
        jail = await launch(nsjail.path, config, [str(shows.python.executable), "-I", "-S", "-c", "pass"])
    except OSError as error:
        return ExecutorError(
            f"{nsjail.path} cannot be started: {error}", hint=f"`nsjail` of [executors.{name}] names another."
        )
    try:
        status = await jail.ended()
    finally:
        await jail.kill()
        jail.socket.close()
    return refused(nsjail.path, jail.said(), user, name) if status else None
