"""The table `[runs]`: what is stored of runs, so that they can be resumed and replayed."""

from __future__ import annotations

from typing import Annotated, Literal

from doorward import Settings
from pydantic import ByteSize, Field, PositiveFloat, PositiveInt


class RunSettings(Settings):
    """`[runs]`: when the journal of a run is stored, and how long it is kept."""

    durable: Literal["waits", "always", "never"] = Field(
        "waits", description="When a run is stored: when it has to wait, at each call, or never"
    )
    keep: PositiveFloat = Field(24.0, description="Hours for which a stored run is kept")
    max_bytes: ByteSize = Field(ByteSize(16 * 2**20), description="The most that is stored of one run")
    most: PositiveInt = Field(
        200, description="The most stored runs of one principal: the oldest that ended are removed first"
    )
    sync: bool = Field(False, description="Wait for the disk at each write: then not even a power cut loses anything")


Table = Annotated[RunSettings, Field(description="What is stored of runs, so that they can be resumed and replayed")]
"""The type of `[runs]`."""
