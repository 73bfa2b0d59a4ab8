"""The table `[plans]`: programs whose writes are withheld until all of them are committed."""

from __future__ import annotations

from typing import Annotated, Literal

from doorward import Settings
from pydantic import Field


class PlanSettings(Settings):
    """`[plans]`: whether programs can be planned, who approves of a plan, and what of the answers it read counts."""

    enabled: bool = Field(
        True, description="Offer plans where an executor can plan; false: every program writes at once"
    )
    approve: Literal["rules", "always"] = Field(
        "rules",
        description="Whether a person approves of a plan: if a rule says `confirm` of one of its calls, or always",
    )
    ignore: tuple[str, ...] = Field(
        (), description="Fields of answers whose changes do not count when a plan is committed; `*_at` works"
    )


Table = Annotated[PlanSettings, Field(description="Programs whose writes are withheld until all of them are committed")]
"""The type of `[plans]`."""
