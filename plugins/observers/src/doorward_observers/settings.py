"""What the configuration says of observers: `observer`, `observer_fail` and `[observers.NAME]`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

Names = Annotated[list[str], Field(description="Who is told in batches what happened")]
"""`observer`: the observers, by name."""

WhileOneFails = Annotated[
    Literal["open", "closed"],
    Field("open", description="While an observer fails: go on, or refuse programs and calls"),
]
"""`observer_fail`"""

Tables = Annotated[dict[str, dict[str, Any]], Field(description="Settings of observers, by name")]
"""`[observers.NAME]`: what each observer is told."""
