"""The models of `[[budgets]]`, and of the key `price` of a server."""

from __future__ import annotations

from typing import Annotated, Literal

from doorward import Settings
from pydantic import ByteSize, Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

UNITS = ("calls", "bytes", "runs", "cost")


class BudgetSettings(Settings):
    """`[[budgets]]`: what each principal may use in an hour or a day. Every budget that fits counts."""

    principal: str = Field(
        "*",
        description='The principals that have it, each for themselves; wildcards work, "@ops" is a group of [groups]',
    )
    server: str = Field("*", description="The servers whose calls count; wildcards work")
    per: Literal["hour", "day"] = Field("day", description="When it is renewed, by UTC")
    calls: PositiveInt | None = Field(None, description="Calls")
    bytes: ByteSize | None = Field(None, description="Arguments and answers; the last answer may go beyond")
    runs: PositiveInt | None = Field(None, description="Runs, of all servers")
    cost: PositiveFloat | None = Field(
        None, description="Money: `price` of a server for each call, and what a source says that a call cost"
    )

    def counts_as(self, other: BudgetSettings) -> bool:
        """Whether both have a limit for the same: they would count it twice."""
        same = (self.principal, self.server, self.per) == (other.principal, other.server, other.per)
        return same and any(getattr(self, unit) is not None and getattr(other, unit) is not None for unit in UNITS)

    @model_validator(mode="after")
    def _has_any(self) -> BudgetSettings:
        if all(getattr(self, unit) is None for unit in UNITS):
            raise ValueError("this budget limits nothing: give it calls, bytes, runs or cost")
        if self.runs is not None and self.server != "*":
            raise ValueError("a run may call any server: a budget of runs has no `server`")
        return self


Table = Annotated[list[BudgetSettings], Field(description="What each principal may use in an hour or a day")]
"""The type of `[[budgets]]`."""

Price = Annotated[NonNegativeFloat, Field(description="What a call costs, where budgets count `cost`")]
"""The type of a server's `price`."""
