"""Answers that are withheld because a program has written a credential itself, and what comes of that.

A program is never given a credential. One that shows it all the same has guessed it, or has put it together from what
an API answered. If it were shown as `[secret]`, a program could write a million guesses and see which of them is right.
So the whole answer is
withheld: that tells one bit. After a few of them the principal's programs are refused.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from doorward.host.logs import log
from doorward.model.errors import LimitExceeded, SecretWithheld

MOST_WITHHELD = 3
"""Answers withheld from one principal after which their programs are refused."""
WINDOW_SECONDS = 86_400.0


class Withholding:
    """Counts the answers that were withheld from each principal."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[str, deque[float]] = {}

    def admit(self, principal: str) -> None:
        """Raises: LimitExceeded if too many answers were withheld from this principal of late."""
        times = self._times.get(principal)
        while times and times[0] < self._clock() - WINDOW_SECONDS:
            times.popleft()
        if times and len(times) >= MOST_WITHHELD:
            hint = "The operator's log says of which server. A restart, or a day, lifts this; a credential that is hard to guess prevents it."
            raise LimitExceeded(
                f"{len(times)} answers of your programs held credentials: no more of them are run", hint=hint
            )

    def withheld(self, principal: str, what: str, servers: str) -> SecretWithheld:
        """The error in the place of an answer; counted, and told to the operator."""
        self._times.setdefault(principal, deque(maxlen=100)).append(self._clock())
        log.warning(
            "secret_withheld", principal=principal, what=what, servers=servers, count=len(self._times[principal])
        )
        hint = f"Programs are never given credentials, and need none. After {MOST_WITHHELD} such answers no more programs are run."
        return SecretWithheld(f"{what} held a credential of {servers}, and is withheld", hint=hint)
