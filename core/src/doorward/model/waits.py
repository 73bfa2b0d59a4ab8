"""What a suspended run waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wait:
    """What a call waits for, and so its run.

    `for_` is one word for it, which programs and metrics read: `"login"`. `what` is a line for the agent and its
    person: what is awaited, and who does what about it. `until`, in seconds since the epoch, is when it is worth
    resuming the run, if that is known. `together` is said once more if several calls of a run wait for the same:
    how one answer serves all of them.
    """

    for_: str
    what: str
    until: int = 0
    together: str = ""


def resumed_at(waits: Sequence[Wait]) -> int:
    """When it is worth resuming a run, in seconds since the epoch; 0 unless that is known of all that it waits for."""
    return max(each.until for each in waits) if all(each.until for each in waits) else 0
