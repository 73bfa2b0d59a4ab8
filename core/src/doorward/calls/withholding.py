"""Withholds answers of programs that have written a credential themselves.

A program is never given a credential. A program that has one all the same guessed it, or put it together from answers
of an API. If it were shown as `[secret]`, a program could write a million guesses and see which one is right. So the
whole answer is withheld, which tells one bit. After a few such answers the principal's programs are refused, in all
processes that share a state folder.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from doorward.access.usage_file import WITHHELD_SECONDS, UsageFile
from doorward.data.offload import thread_to_its_end
from doorward.host.logs import log, seldom
from doorward.model.errors import ConfigError, LimitExceeded, SecretWithheld

MAX_WITHHELD = 3
"""Withheld answers after which the programs of a principal are refused."""


class Withholding:
    """Counts the answers that were withheld from each principal: those of this process, and with a `file` those of all
    processes. Where the file cannot be used, each process counts alone. Nothing but a withheld answer touches it: those
    of other processes are known from the last time, or since it was last asked for runs (see `RateLimit`)."""

    def __init__(self, file: UsageFile | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = file, clock
        self._times: dict[str, deque[float]] = {}
        self._shared = file.withheld if file is not None else {}

    def admit(self, principal: str) -> None:
        """Raises: LimitExceeded if too many answers were withheld from this principal within the window."""
        if principal not in self._times and principal not in self._shared:
            return
        if (count := self._count(principal)) >= MAX_WITHHELD:
            hint = (
                "The operator's log says of which server. A day lifts this, or an operator who removes `usage.db` from "
                "the state folder and restarts; a credential that is hard to guess prevents it."
            )
            raise LimitExceeded(
                f"{count} answers of your programs held credentials: no more of them are run", hint=hint
            )

    def _count(self, principal: str) -> int:
        since = self._clock() - WITHHELD_SECONDS
        known = (self._times.get(principal, ()), self._shared.get(principal, ()))
        return max(sum(second >= since for second in seconds) for seconds in known)

    async def withheld(self, principal: str, what: str, servers: str) -> SecretWithheld:
        """The error that takes the place of an answer; it is counted and logged."""
        now = self._clock()
        self._times.setdefault(principal, deque(maxlen=100)).append(now)
        try:
            if self._file is not None:
                await thread_to_its_end(self._file.withhold, principal, int(now))
        except ConfigError as error:
            seldom.warning("withheld_not_shared", why=error.message)
        log.warning("secret_withheld", principal=principal, what=what, servers=servers, count=self._count(principal))
        hint = (
            f"Programs are never given credentials, and need none. After {MAX_WITHHELD} such answers no more programs "
            "are run."
        )
        return SecretWithheld(f"{what} held a credential of {servers}, and is withheld", hint=hint)
