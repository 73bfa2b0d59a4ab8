"""One hardened container: what every one of ours has, its start and its end."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError, log

from doorward_containers.channel import Unwrap, as_socket

if TYPE_CHECKING:
    import socket

    from docker import APIClient

    from doorward_containers.engine import Engine

RUNTIME_PROCESSES = 16
"""Processes and threads that a runtime needs to start a container; the container's limit counts them too."""
ULIMITS = [{"Name": "nofile", "Soft": 1024, "Hard": 8192}, {"Name": "core", "Soft": 0, "Hard": 0}]
"""A process keeps the soft limit; what needs more raises it to the hard one."""


def hardened(
    profile: str, *, memory: int, cpus: float, processes: int, tmpfs: Mapping[str, str], network: str = "none"
) -> dict[str, Any]:
    """The `HostConfig` of a container (`ContainerCreate`, Docker Engine API v1.41) that nobody trusts.

    `profile` is the seccomp profile as JSON, or for Podman the path of a file; empty: the engine's own. Nothing of the
    host is mounted, all that can be written to is memory that counts towards the limit, and no privilege is left that
    could be used against the kernel.
    """
    return {
        "AutoRemove": True,
        "NetworkMode": network,
        "IpcMode": "private",
        "ReadonlyRootfs": True,
        "Tmpfs": dict(tmpfs),
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", *([f"seccomp={profile}"] if profile else [])],
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(cpus * 1e9),
        "PidsLimit": processes,
        "Ulimits": ULIMITS,
        "LogConfig": {"Type": "none", "Config": {}},
        "Init": False,
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
