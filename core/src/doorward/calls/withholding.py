"""Withholds answers of programs that have written a credential themselves.

A program is never given a credential. A program that has one all the same guessed it, or put it together from answers
of an API. If it were shown as `[secret]`, a program could write a million guesses and see which one is right. So the
whole answer is withheld, which tells one bit. After a few such answers the principal's programs are refused.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from doorward.host.logs import log
from doorward.model.errors import LimitExceeded, SecretWithheld

MAX_WITHHELD = 3
"""Withheld answers after which the programs of a principal are refused."""

WINDOW_SECONDS = 86_400.0
"""A withheld answer counts for a day."""


class Withholding:
    """Counts the answers that were withheld from each principal."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[str, deque[float]] = {}

    def admit(self, principal: str) -> None:
        """Raises: LimitExceeded if too many answers were withheld from this principal within the window."""
        times = self._times.get(principal)
        while times and times[0] < self._clock() - WINDOW_SECONDS:
            times.popleft()
        if times and len(times) >= MAX_WITHHELD:
            hint = (
                "The operator's log says of which server. A restart, or a day, lifts this; a credential that is hard "
                "to guess prevents it."
            )
            raise LimitExceeded(
                f"{len(times)} answers of your programs held credentials: no more of them are run", hint=hint
            )

    def withheld(self, principal: str, what: str, servers: str) -> SecretWithheld:
        """The error that takes the place of an answer; it is counted and logged."""
        self._times.setdefault(principal, deque(maxlen=100)).append(self._clock())
        log.warning(
            "secret_withheld", principal=principal, what=what, servers=servers, count=len(self._times[principal])
        )
        hint = (
            f"Programs are never given credentials, and need none. After {MAX_WITHHELD} such answers no more programs "
            "are run."
        )
        return SecretWithheld(f"{what} held a credential of {servers}, and is withheld", hint=hint)
