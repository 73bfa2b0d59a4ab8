"""One hardened container: what it is made with, its start, its end, and which limits were hit in it."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError, Limits, log

from doorward_sandbox_docker.account import taken
from doorward_sandbox_docker.channel import Unwrap, as_socket
from doorward_sandbox_docker.owner import labels

if TYPE_CHECKING:
    import socket

    from docker import APIClient

    from doorward_sandbox_docker.engine import Engine
    from doorward_sandbox_docker.settings import DockerSettings

_BASE_BYTES, _PACKAGES_BYTES, _MARGIN_BYTES = 48 * 2**20, 512 * 2**20, 16 * 2**20
"""Bytes of memory besides a program's own: for the first process of a container; while it loads packages; and, once it
has loaded them, for what each run's process needs before its program starts."""
_OWN_PROCESSES = 2
"""Processes in a container besides a program's own: the first one and the relay; in a warm container also the first of
each sandbox."""
_RUNTIME_PROCESSES = 16
"""Processes and threads that a runtime needs to start a container, which its limit counts too."""
ULIMITS = [{"Name": "nofile", "Soft": 1024, "Hard": 8192}, {"Name": "core", "Soft": 0, "Hard": 0}]
"""A program has the soft one for good; the relay takes the hard one (`doorward_jail.inside.relay`)."""


def options(
    settings: DockerSettings, command: Sequence[str], limits: Limits, profile: str, *, podman: bool = False
) -> dict[str, Any]:
    """What the engine is asked to make: the body of `ContainerCreate` (Docker Engine API v1.41).

    `profile` is the seccomp profile: JSON, for Podman the path of a file. Nothing of the host is mounted, nothing can
    be written but memory that the container's limit counts, and no right is left that could be used against the kernel.
    """
    memory = limits.memory_bytes + _BASE_BYTES + (_PACKAGES_BYTES if settings.preload else 0)
    scratch = f"rw,noexec,nosuid,nodev,size={int(settings.scratch)},mode=1777"
    if not podman:  # Podman 4 refuses these; the tmpfs that each sandbox gets has them in any case
        uid, _, gid = settings.user.partition(":")
        scratch += f",nr_inodes={settings.inodes},uid={uid},gid={gid or uid}"
    return {
        "Image": settings.image,
        "Entrypoint": [settings.python],
        "Cmd": [word for word in command if word != "-S"],  # the image's own packages are the ones that programs get
        "User": settings.user,
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Labels": labels(),
        **({} if podman else {"Healthcheck": {"Test": ["NONE"]}}),
        "StopSignal": "SIGKILL",  # an engine that stops need not wait
        "OpenStdin": True,
        "StdinOnce": True,  # the end of our connection is the end of its input, and so its own
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": settings.network == "none",
        "HostConfig": {
            "AutoRemove": True,
            "NetworkMode": settings.network,
            "IpcMode": "private",
            "ReadonlyRootfs": True,
            "Tmpfs": {"/work": scratch, "/tmp": scratch},  # noqa: S108
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
    """A container that runs."""

    def __init__(self, engine: Engine, id: str, about: Mapping[str, Any], channel: socket.socket) -> None:
        self.engine = engine
        self.id = id
        self.pid = (
            int(about["State"]["Pid"]) if about else 0
        )  # of its first process, on the engine's machine; 0 if it has ended already
        self.held = (
            not about or about["HostConfig"]["Memory"] > 0
        )  # a rootless engine on cgroup v1 drops limits without a word
        self.socket = channel
        self.unwrap = Unwrap()

    def said(self) -> str:
        """The end of what it wrote to stderr."""
        return self.unwrap.said.decode(errors="replace").strip()

    async def hold(self, memory: int) -> None:
        """Now that the packages are loaded, and what they take can be seen, let a program have so many bytes and no
        more.

        Podman before 5 changes no limit of a container that runs: there what it was made with stays.
        """
        with contextlib.suppress(ExecutorError):
            await self.engine.ask(lambda client: _hold(client, self, memory))

    async def kill(self) -> None:
        """End it. Returns when it and everything in it is gone, or its engine is: without our end of its channel it
        ends by itself."""
        try:
            await self.engine.ask(lambda client: _remove(client, self.id))
        except ExecutorError as error:
            log.warning("container_not_ended", container=self.id[:12], error=str(error))


def start(engine: Engine, client: APIClient, config: dict[str, Any]) -> Container:
    """Make, attach and start a container; in a thread. It is attached first, so that nothing that it says is lost.

    Whoever gives up waiting for the answer leaves nothing behind: the socket of a container that nobody got is closed,
    and that ends it.
    """
    made = client.create_container_from_config(config, f"doorward-{secrets.token_hex(6)}")["Id"]
    channel = None
    try:
        channel = as_socket(client.attach_socket(made, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}))
        client.start(made)
        about = _about(client, made)
    except BaseException:
        if channel is not None:
            channel.close()
        with contextlib.suppress(Exception):
            _remove(client, made)
        raise
    return Container(engine, made, about, channel)


def _about(client: APIClient, id: str) -> Mapping[str, Any]:
    from docker.errors import NotFound

    try:
        return dict(client.inspect_container(id))
    except NotFound:  # it ended at once; its channel tells why
        return {}


def _hold(client: APIClient, container: Container, memory: int) -> None:
    if (own := taken(client, container.id, container.pid)) is not None:
        most = own + memory + _MARGIN_BYTES
        client.update_container(container.id, mem_limit=most, memswap_limit=most)


def _remove(client: APIClient, id: str) -> None:
    from docker.errors import APIError, NotFound

    try:
        client.remove_container(id, force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # it is being removed already, for it has ended by itself
            raise
    patience = time.monotonic() + client.timeout
    while time.monotonic() < patience:
        try:
            client.inspect_container(id)
        except NotFound:
            return
        time.sleep(0.01)
    raise ExecutorError(f"the container {id[:12]} does not end", hint="See the engine's log, and remove it by hand.")
