"""The container of a sandbox: its options, and how its memory is limited later."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError, Limits
from doorward_containers import RUNTIME_PROCESSES, Container, hardened, labels
from doorward_jail import PYTHON_ENVIRONMENT

from doorward_sandbox_docker.account import taken

if TYPE_CHECKING:
    from docker import APIClient

    from doorward_sandbox_docker.settings import DockerSettings

KIND = "sandbox"
"""What the labels of these containers say that they are."""

_BASE_BYTES, _PACKAGES_BYTES, _MARGIN_BYTES = 48 * 2**20, 512 * 2**20, 16 * 2**20
"""Memory besides a program's own: for the first process of a container; while packages are being loaded; and, after
that, for what each run's process needs before its program starts."""
_OWN_PROCESSES = 2
"""Processes in a container besides a program's own: the first one and the relay; in a warm container also the first
process of each sandbox."""


@dataclass(frozen=True)
class Image:
    """What an image's name meant when it was checked; the name may be given to another one later.

    `volumes`: folders for which the engine makes places on its disk, writable and without bounds, unless something else
    is mounted there.
    """

    id: str
    volumes: tuple[str, ...]


def options(
    settings: DockerSettings, image: Image, command: Sequence[str], limits: Limits, profile: str, *, podman: bool
) -> dict[str, Any]:
    """The options of a container: the body of `ContainerCreate` (Docker Engine API v1.41).

    `profile` is the seccomp profile as JSON, or for Podman the path of a file. Nothing of the host is mounted, the only
    thing that can be written to is memory that counts towards the container's limit, and no privilege is left that
    could be used against the kernel.
    """
    memory = limits.memory_bytes + _BASE_BYTES + (_PACKAGES_BYTES if settings.preload else 0)
    scratch = f"rw,noexec,nosuid,nodev,size={int(settings.scratch)},mode=1777"
    tmpfs = {"/work": scratch, "/tmp": scratch}  # noqa: S108
    theirs = image.volumes
    if podman:  # which mounts its own on these, without bounds, and for everybody to write
        theirs += "/run", "/var/tmp"  # noqa: S108
    else:  # Podman 4 refuses these; each sandbox gets a tmpfs with them anyway
        uid, _, gid = settings.user.partition(":")
        scratch += f",nr_inodes={settings.inodes},uid={uid},gid={gid or uid}"
        tmpfs = dict.fromkeys(tmpfs, scratch)
    tmpfs = dict.fromkeys(theirs, "rw,noexec,nosuid,nodev,size=64k,mode=0755") | tmpfs
    return {
        "Image": image.id,
        "Entrypoint": [settings.python],
        "Cmd": [word for word in command if word != "-S"],  # programs get the image's own packages
        "Env": [f"{name}={value}" for name, value in PYTHON_ENVIRONMENT.items()],
        "User": settings.user,
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Labels": labels(KIND),
        **({} if podman else {"Healthcheck": {"Test": ["NONE"]}}),
        "StopSignal": "SIGKILL",  # an engine that stops need not wait
        "OpenStdin": True,
        "StdinOnce": True,  # when our connection ends, so does its input, and with it the container
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": settings.network == "none",
        "HostConfig": hardened(
            profile,
            memory=memory,
            cpus=settings.cpus,
            processes=max(limits.processes + _OWN_PROCESSES + (settings.mode == "warm"), RUNTIME_PROCESSES),
            tmpfs=tmpfs,
            network=settings.network,
        )
        | {"ShmSize": int(settings.scratch), **({"Runtime": settings.runtime} if settings.runtime else {})},
    }


async def hold(container: Container, memory: int) -> None:
    """Limit a program in a container to `memory` bytes, now that the packages are loaded and their size is known.

    Podman before 5 cannot change the limits of a running container: there the original limit stays.
    """
    with contextlib.suppress(ExecutorError):
        await container.engine.ask(lambda client: _hold(client, container, memory))


def _hold(client: APIClient, container: Container, memory: int) -> None:
    if (own := taken(client, container.id, container.pid)) is not None:
        most = own + memory + _MARGIN_BYTES
        client.update_container(container.id, mem_limit=most, memswap_limit=most)
