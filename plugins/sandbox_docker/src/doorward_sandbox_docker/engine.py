"""The engine of the sandboxes: where it is, and what its refusals mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import ExecutorError
from doorward_containers import EngineAddress

if TYPE_CHECKING:
    from doorward_sandbox_docker.settings import DockerSettings

BUILD = "Run `doorward sandbox build docker`."


def address(settings: DockerSettings) -> EngineAddress:
    """Where the engine is that these settings name."""

    def refused(said: str, missing: bool) -> ExecutorError | None:
        return _refused(said, missing=missing, settings=settings)

    return EngineAddress(settings.host, settings.timeout, "[executors.docker]", refused)


def _refused(said: str, *, missing: bool, settings: DockerSettings) -> ExecutorError | None:
    """The error for a request that the engine itself refused."""
    low = said.lower()
    if missing:
        return ExecutorError(f"the container engine has no image {settings.image!r}", hint=BUILD)
    if settings.runtime and "runtime" in low and settings.runtime in said:
        hint = "`docker info` lists the runtimes. [executors.docker] runtime names one of them."
        return ExecutorError(f"the container engine does not know the runtime {settings.runtime!r}: {said}", hint=hint)
    if "network" in low and settings.network in said and "not found" in low:
        return ExecutorError(
            f"the container engine has no network {settings.network!r}",
            hint=f"`docker network create {settings.network}`",
        )
    if "executable file not found" in low or "no such file or directory" in low:
        hint = f"[executors.docker] python is its path in the image. {BUILD}"
        return ExecutorError(f"the image {settings.image!r} has no {settings.python!r}: {said}", hint=hint)
    return None
