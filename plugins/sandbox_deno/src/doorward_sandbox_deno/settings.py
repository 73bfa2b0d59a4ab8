"""The keys of `[executors.deno]`."""

from __future__ import annotations

from doorward_jail import NsjailedSettings, Place
from pydantic import Field


class DenoSettings(NsjailedSettings):
    """`[executors.deno]`."""

    deno: Place | None = Field(None, description="The deno program; without it that of the wheel `deno`")
    python: Place | None = Field(
        None, description="The Python that starts it in a jail; without it the one that runs Doorward"
    )
