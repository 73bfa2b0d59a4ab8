"""The model of `[pins]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from doorward import Settings
from pydantic import Field


class PinsSettings(Settings):
    """`[pins]`: which changes of functions need no review, and where the reviewed functions are stored."""

    allow: list[Literal["text", "widened", "added", "narrowed", "removed", "effect"]] = Field(
        [],
        description="Classes of changes that are served without a review. A text that seems to address a model is "
        "always reviewed",
    )
    file: Path = Field(
        Path("doorward.lock"), description="The reviewed functions; a relative path starts at the configuration"
    )


Table = Annotated[PinsSettings, Field(description="Functions are served as they were last reviewed")]
"""The type of `[pins]`."""
