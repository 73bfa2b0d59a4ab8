"""One hardened container: its options, its start, its end, and the limits that were reached in it."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError, Limits, log
from doorward_jail import PYTHON_ENVIRONMENT

from doorward_sandbox_docker.account import taken
from doorward_sandbox_docker.channel import Unwrap, as_socket
from doorward_sandbox_docker.owner import labels

if TYPE_CHECKING:
    import socket

    from docker import APIClient

    from doorward_sandbox_docker.engine import Engine
    from doorward_sandbox_docker.settings import DockerSettings

_BASE_BYTES, _PACKAGES_BYTES, _MARGIN_BYTES = 48 * 2**20, 512 * 2**20, 16 * 2**20
"""Memory besides a program's own: for the first process of a container; while packages are being loaded; and, after
that, for what each run's process needs before its program starts."""
_OWN_PROCESSES = 2
"""Processes in a container besides a program's own: the first one and the relay; in a warm container also the first
process of each sandbox."""
_RUNTIME_PROCESSES = 16
"""Processes and threads that a runtime needs to start a container; the container's limit counts them too."""
ULIMITS = [{"Name": "nofile", "Soft": 1024, "Hard": 8192}, {"Name": "core", "Soft": 0, "Hard": 0}]
"""A program keeps the soft limit; the relay raises its own to the hard one (`doorward_jail.inside.relay`)."""


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
        "Labels": labels(),
        **({} if podman else {"Healthcheck": {"Test": ["NONE"]}}),
        "StopSignal": "SIGKILL",  # an engine that stops need not wait
        "OpenStdin": True,
        "StdinOnce": True,  # when our connection ends, so does its input, and with it the container
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": settings.network == "none",
        "HostConfig": {
            "AutoRemove": True,
            "NetworkMode": settings.network,
            "IpcMode": "private",
            "ReadonlyRootfs": True,
            "Tmpfs": tmpfs,
            "ShmSize": int(settings.scratch),
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges", f"seccomp={profile}"],
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": int(settings.cpus * 1e9),
            "PidsLimit": max(limits.processes + _OWN_PROCESSES + (settings.mode == "warm"), _RUNTIME_PROCESSES),
            "Ulimits": ULIMITS,
            "LogConfig": {"Type": "none", "Config": {}},
            "Init": False,
            **({"Runtime": settings.runtime} if settings.runtime else {}),
        },
    }


class Container:
    """A running container."""

    def __init__(self, engine: Engine, id: str, about: Mapping[str, Any], channel: socket.socket) -> None:
        self.engine = engine
        self.id = id
        self.pid = (
            int(about["State"]["Pid"]) if about else 0
        )  # the id of its first process on the engine's machine; 0 if that has already ended
        self.held = (
            not about or about["HostConfig"]["Memory"] > 0
        )  # a rootless engine on cgroup v1 silently drops limits
        self.socket = channel
        self.unwrap = Unwrap()

    def said(self) -> str:
        """The last part of what it wrote to stderr."""
        return self.unwrap.said.decode(errors="replace").strip()

    async def hold(self, memory: int) -> None:
        """Limit a program to `memory` bytes, now that the packages are loaded and their size is known.

        Podman before 5 cannot change the limits of a running container: there the original limit stays.
        """
        with contextlib.suppress(ExecutorError):
            await self.engine.ask(lambda client: _hold(client, self, memory))

    async def kill(self) -> None:
        """End the container. Returns when it and everything in it is gone, or the engine is: without our end of the
        channel it ends by itself."""
        try:
            await self.engine.ask(lambda client: remove(client, self.id))
        except ExecutorError as error:
            log.warning("container_not_ended", container=self.id[:12], error=str(error))


def start(engine: Engine, client: APIClient, config: dict[str, Any]) -> Container:
    """Make, attach and start a container; runs in a thread. It is attached first, so that none of its output is lost.

    A caller who stops waiting leaves nothing behind: the socket of a container that nobody received is closed,
    which ends the container.
    """
    made = client.create_container_from_config(config, f"doorward-{secrets.token_hex(6)}")["Id"]
    channel = None
    try:
        if runtime := config["HostConfig"].get("Runtime"):
            _check_runtime(client, made, runtime)
        channel = as_socket(client.attach_socket(made, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}))
        client.start(made)
        about = _about(client, made)
    except BaseException:
        if channel is not None:
            channel.close()
        with contextlib.suppress(Exception):
            remove(client, made)
        raise
    return Container(engine, made, about, channel)


def _check_runtime(client: APIClient, id: str, wanted: str) -> None:
    """Podman takes the runtime of its service for every container, whatever is asked. Raises: ExecutorError."""
    if client.inspect_container(id)["HostConfig"].get("Runtime") == wanted:
        return
    answer = client.get(f"{client.base_url}/v4.0.0/libpod/containers/{id}/json")
    used = answer.json().get("OCIRuntime", "") if answer.status_code == 200 else ""
    if Path(used).name != Path(wanted).name:
        raise ExecutorError(
            f"the container engine would not use the runtime {wanted!r}, but {used or 'its own'}",
            hint=f"Start Podman with it: podman --runtime {wanted} system service.",
        )


def _about(client: APIClient, id: str) -> Mapping[str, Any]:
    from docker.errors import NotFound

    try:
        return dict(client.inspect_container(id))
    except NotFound:  # it ended at once; its output tells why
        return {}


def _hold(client: APIClient, container: Container, memory: int) -> None:
    if (own := taken(client, container.id, container.pid)) is not None:
        most = own + memory + _MARGIN_BYTES
        client.update_container(container.id, mem_limit=most, memswap_limit=most)


def remove(client: APIClient, id: str) -> None:
    """Remove a container, also one that runs. An engine that still clears up after its end refuses (Docker with 409,
    Podman with 500): it is asked again, for a minute at most.

    Raises: DockerException.
    """
    from docker.errors import APIError, NotFound

    patience = time.monotonic() + 60
    while True:
        try:
            client.remove_container(id, force=True, v=True)
            return
        except NotFound:
            return
        except APIError as error:
            if error.status_code not in (409, 500) or time.monotonic() > patience:
                raise
        time.sleep(0.05)
