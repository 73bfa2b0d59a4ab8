"""The executor `docker`: full CPython with third-party packages, in hardened containers of Docker or Podman.

What runs in a container, how many there are and what a session is, is decided in `doorward_jail`; this
plugin makes the containers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from doorward import Capabilities, ExecutorError, Limits, PluginContext, log
from doorward.files import write_own
from doorward_jail import Isolated, JailExecutor, docker_profile

from doorward_sandbox_docker.settings import DockerSettings

if TYPE_CHECKING:
    from docker import APIClient
    from doorward_containers import Container

    from doorward_sandbox_docker.container import Image


class DockerExecutor(JailExecutor[DockerSettings]):
    """Opens sandboxes in containers that were started ahead of time."""

    Settings = DockerSettings

    def __init__(self, context: PluginContext[DockerSettings]) -> None:
        from doorward_containers import Engine

        from doorward_sandbox_docker.engine import address
        from doorward_sandbox_docker.image import named

        super().__init__(context)
        self.settings = self.settings.model_copy(update={"image": named(self.settings)})
        if self.settings.mode == "cold":
            self.settings = self.settings.model_copy(update={"pool": 0})
        self._engine = Engine(address(self.settings))
        self._image: Image | None = None
        self._profile = ""
        self._podman = False
        self._held = True
        self._unwanted: set[asyncio.Task[None]] = set()
        self._first = anyio.Lock()

    def capabilities(self) -> Capabilities:
        network = self.settings.network != "none"
        return Capabilities(
            language="Python (CPython, whole standard library)",
            isolation="a container with its own kernel namespaces, a read-only root, no capabilities and few system "
            "calls, " + (f"on the network {self.settings.network!r}" if network else "without a network"),
            packages=tuple(self.settings.packages),
            sessions=True,
            plans=True,
            repeats=True,
            network=network,
            files=True,
            one_process=not self._held,
            shell=self.settings.shell,
            limits={
                "time": "host",
                "memory": "cgroup of the container" if self._held else "rlimit (address space)",
                "processes": "cgroup of the container" if self._held else "seccomp (a program is one process)",
                "cpu": "cgroup of the container",
                "disk": "size and inodes of the tmpfs",
                "output": "host",
                "calls": "host",
            },
        )

    async def start(self, command: Sequence[str], limits: Limits) -> Isolated:
        """A new container that runs the command. Raises: ExecutorError."""
        from doorward_containers import start

        from doorward_sandbox_docker.account import Account
        from doorward_sandbox_docker.container import hold, options

        image = await self._prepared()
        asked = options(self.settings, image, command, limits, self._profile, podman=self._podman)
        making = asyncio.ensure_future(self._engine.ask(lambda client: start(self._engine, client, asked)))
        try:
            container = await asyncio.shield(making)
        except asyncio.CancelledError:
            unwanted = asyncio.ensure_future(self._end_unwanted(making))
            self._unwanted.add(unwanted)
            unwanted.add_done_callback(self._unwanted.discard)
            raise
        account = Account(container.engine, container.id, container.pid, self.settings.python)
        config: dict[str, Any] = {"network": self.settings.network != "none", "fresh": self.settings.mode == "warm"}
        self._held = container.held
        if not self._held:  # then the only limits are a single process and its address space
            config |= {"memory": limits.memory_bytes, "one_process": True}
            log.warning("engine_holds_no_limits", effect="memory is held by rlimits, and a program starts no process")
        return Isolated(
            socket=container.socket,
            kill=container.kill,
            said=container.said,
            unwrap=container.unwrap,
            account=lambda pid: account,
            more_memory=_files_count(limits.memory_bytes, int(self.settings.scratch)) if self._held else "",
            loaded=lambda: hold(container, limits.memory_bytes),
            config=config,
        )

    async def build(self, tell: Callable[[str], None]) -> str:
        """Make the image. Returns: a sentence that says what was made. Raises: ExecutorError."""
        from doorward_sandbox_docker.image import build

        return await self._engine.ask(lambda client: build(client, self.settings, tell), timeout=3600)

    async def check(self) -> Sequence[str]:
        """What is used: the engine, its version, the image and the age of that. Raises: ExecutorError."""
        from doorward_sandbox_docker.image import described

        return await self._engine.ask(lambda client: described(client, self.settings))

    async def close(self) -> None:
        await super().close()
        await asyncio.gather(*self._unwanted)
        self._engine.close()

    async def _end_unwanted(self, making: asyncio.Task[Container]) -> None:
        """End a container that started when nobody waited for it any more."""
        with contextlib.suppress(ExecutorError):
            container = await making
            await container.kill()
            container.socket.close()

    async def _prepared(self) -> Image:
        """Before the first container: find out which kind of engine it is, check that the image is the configured one,
        and remove what dead gateways left behind."""
        async with self._first:
            if self._image is None:
                self._image = await self._engine.ask(self._prepare)
            return self._image

    def _prepare(self, client: APIClient) -> Image:
        from doorward_containers import is_podman, sweep

        from doorward_sandbox_docker.container import KIND
        from doorward_sandbox_docker.image import checked

        sweep(client, KIND)
        image = checked(client, self.settings)
        self._profile = docker_profile()
        self._podman = is_podman(client.version())
        if self._podman:  # it wants the path of a file instead of the text
            self._profile = str(_written(self.context.state / "docker-seccomp.json", self._profile))
        return image


def _written(file: Path, text: str) -> Path:
    """Write one of our files, so that it is complete at any time. Raises: ExecutorError, ConfigError."""
    try:
        write_own(file, text.encode())
    except OSError as error:
        raise ExecutorError(f"{file} cannot be written: {error.strerror}", hint="Check the state folder.") from None
    return file


def _files_count(memory: int, scratch: int) -> str:
    """What to do where a program cannot use all of its scratch space, which is memory."""
    if memory >= scratch:
        return ""
    return (
        f"Files in the sandbox count as memory, and may have {scratch // 2**20} MiB ([executors.docker] scratch): the "
        "operator can set [limits] memory above that."
    )
