"""What `[executors.nsjail]` says."""

from __future__ import annotations

from doorward_jail import NsjailedSettings, Place
from pydantic import Field, model_validator


class NsjailSettings(NsjailedSettings):
    """`[executors.nsjail]`."""

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

    shell: bool = Field(
        False, description="Show programs the commands of the machine, such as a shell, and let them start these"
    )

    @model_validator(mode="after")
    def _one_environment(self) -> NsjailSettings:
        if self.packages and self.venv:
            raise ValueError("`packages` and `venv` exclude each other")
        return self
