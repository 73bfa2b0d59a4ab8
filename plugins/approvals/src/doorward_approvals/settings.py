"""The model of `[approvals]` in `doorward.toml`."""

from __future__ import annotations

from doorward import Settings
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt


class ApprovalSettings(Settings):
    """`[approvals]`: how people are asked about calls that a rule has them confirm."""

    client: bool = Field(
        True, description="The person at the MCP client may answer; false: only others, see `doorward approvals`"
    )
    patience: PositiveFloat = Field(
        45.0, description="Seconds in all for which a run waits in vain for its client's person, before it is suspended"
    )
    wait: NonNegativeFloat = Field(0.0, description="The same, for somebody else's answer")
    keep: PositiveFloat = Field(24.0, description="Hours after which a request, or a yes, is worth nothing")
    open: PositiveInt = Field(100, description="Requests of one principal that may wait for answers")
    login: bool = Field(
        False, description="Also wait for a person's login where a call lacks it; false: the call fails and says so"
    )
