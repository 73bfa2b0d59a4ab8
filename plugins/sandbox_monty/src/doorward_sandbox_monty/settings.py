"""The keys of `[executors.monty]`."""

from __future__ import annotations

from doorward import Settings
from pydantic import Field, PositiveInt


class MontySettings(Settings):
    """`[executors.monty]`."""

    workers: PositiveInt = Field(
        32, description="Programs and open sessions at once; principals share them, and more wait, in turn"
    )
    type_check: bool = Field(
        False, description="Check each program's types before it runs, against the functions' signatures"
    )
    wait: float = Field(30.0, gt=0, description="Seconds that a program waits for a free worker")
