"""The model of `[console]` in `doorward.toml`."""

from __future__ import annotations

from doorward import Settings
from pydantic import Field, PositiveFloat


class ConsoleSettings(Settings):
    """`[console]`: pages for people, below `/console` of the HTTP endpoint."""

    operators: list[str] = Field(
        [],
        description="Principals who see what is everybody's and answer every request; wildcards work, "
        '"@ops" is a group of [groups]. Others see what is theirs',
    )
    self_approval: bool = Field(
        False,
        description="Other principals answer their own requests, too; an agent that has its principal's token could "
        "answer its own",
    )
    link: bool = Field(False, description="Print a link for an operator, which works once; as `serve --console` does")
    hours: PositiveFloat = Field(12.0, description="Hours after which one signs in again")
