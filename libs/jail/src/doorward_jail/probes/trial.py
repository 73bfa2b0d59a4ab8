"""One trial: a program that tries what must not work, and how the host judges its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward import DoorwardError, Failure

TRIAL_SECONDS = 5.0
"""Seconds that one probe may take."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A program and its parameters. `judge` returns a sentence on what did not hold, or ""; `well` is the sentence if
    all held. `limit` is a word in the message of the limit that should end the program."""

    code: str
    params: Mapping[str, Any]
    judge: Callable[[Any, DoorwardError | Failure | None], str]
    well: str
    limit: str = "-"
    seconds: float = TRIAL_SECONDS
