"""What `[executors.docker]` says."""

from __future__ import annotations

from typing import Literal

from doorward_jail import JailSettings
from pydantic import Field


class DockerSettings(JailSettings):
    """`[executors.docker]`."""

    image: str = Field(
        "",
        description="The image of the sandboxes, which `doorward sandbox build docker` makes; empty: named after what "
        "it is made of",
    )
    base: str = Field("python:3.13-slim", description="The image on which it is built")
    rootfs: str | None = Field(
        None, description="Archive of a root file system with a Python, to build from in place of `base`"
    )
    packages: list[str] = Field([], description="What pip installs into the image, for programs to import")
    host: str = Field(
        "", description="The engine, as DOCKER_HOST; empty: DOCKER_HOST, the Docker context, or the first that answers"
    )
    mode: Literal["warm", "cold"] = Field(
        "warm", description="cold: a new container for each run or session, none kept ready"
    )
    runtime: str = Field(
        "", description="The runtime of the containers, such as runsc or kata; empty: the engine's own"
    )
    user: str = Field(
        "65534:65534",
        pattern=r"^[1-9]\d*(:[1-9]\d*)?$",
        description="Ids of the user and group in the container; never root",
    )
    cpus: float = Field(1.0, gt=0, description="Processors that one container may keep busy")
    network: str = Field(
        "none", min_length=1, description="A network of the engine that the containers join; none: no network at all"
    )
    shell: bool = Field(
        False,
        description="Let programs start the commands of the image, such as a shell; else the guard `ast` refuses it",
    )
    python: str = Field("python3", min_length=1, description="The Python in the image: a name or a path")
    timeout: float = Field(60.0, gt=0, description="Seconds that the engine may take to answer")
