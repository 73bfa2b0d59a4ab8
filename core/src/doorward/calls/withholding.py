"""Withholds answers of programs that have written a credential themselves.

A program is never given a credential. A program that has one all the same guessed it, or put it together from answers
of an API. If it were shown as `[secret]`, a program could write a million guesses and see which one is right. So the
whole answer is withheld, which tells one bit. After a few such answers the principal's programs are refused, in all
processes that share a store.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.data.offload import to_its_end
from doorward.host.logs import log, seldom
from doorward.host.store_updates import take_over, update
from doorward.model.errors import LimitExceeded, SecretWithheld, StateError
from doorward.model.principals import person_of
from doorward.model.storage import Put

if TYPE_CHECKING:
    from doorward.model.storage import Store

MAX_WITHHELD = 3
"""Withheld answers after which the programs of a principal are refused."""

WITHHELD_SECONDS = 86_400
"""A withheld answer counts for a day."""

TABLE = "withheld"
"""The table with the withheld answers of each principal: a JSON list of seconds since the epoch."""

_MAX_KEPT = 100
"""Withheld answers of a principal that are remembered."""

_EARLIER = "SELECT principal, period, amount FROM used WHERE budget = 'withheld answers'"


class Withholding:
    """Counts the answers that were withheld from each principal: those of this process, and with a `store` those of all
    processes. Where the store cannot be used, each process counts alone. Only a withheld answer looks there, and a run
    that asks for its share of the rate (see `RateLimit`); a call reads memory alone. `earlier` is the file in which
    versions before the store counted."""

    def __init__(
        self, store: Store | None = None, earlier: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._earlier, self._clock = store, earlier, clock
        self._times: dict[str, deque[float]] = {}
        self._shared: dict[str, list[int]] = {}

    async def look(self, principal: str) -> None:
        """See what other processes have withheld from a principal."""
        if self._store is None:
            return
        principal = person_of(principal)
        try:
            await self._take_over(self._store)
            found = await self._store.get(TABLE, principal)
        except StateError as error:
            seldom.warning("withheld_not_shared", why=error.message)
            return
        self._shared.pop(principal, None)
        if found is not None:
            self._shared[principal] = json.loads(found.value)

    def admit(self, principal: str) -> None:
        """Raises: LimitExceeded if too many answers were withheld from this person within the window."""
        if not self._times and not self._shared:
            return
        principal = person_of(principal)
        if (count := self._count(principal)) >= MAX_WITHHELD:
            hint = (
                "The operator's log says of which server. A day lifts this, or an operator by `doorward store forget "
                "withheld` and a restart; a credential that is hard to guess prevents it."
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
        now, principal = self._clock(), person_of(principal)
        self._times.setdefault(principal, deque(maxlen=_MAX_KEPT)).append(now)
        try:
            if self._store is not None:
                await to_its_end(self._count_shared(self._store, principal, int(now)))
        except StateError as error:
            seldom.warning("withheld_not_shared", why=error.message)
        log.warning("secret_withheld", principal=principal, what=what, servers=servers, count=self._count(principal))
        hint = (
            f"Programs are never given credentials, and need none. After {MAX_WITHHELD} such answers no more programs "
            "are run."
        )
        return SecretWithheld(f"{what} held a credential of {servers}, and is withheld", hint=hint)

    async def _count_shared(self, store: Store, principal: str, second: int) -> None:
        def count(value: bytes | None) -> tuple[bytes, list[int]]:
            seconds = [each for each in json.loads(value or b"[]") if each >= second - WITHHELD_SECONDS]
            seconds = [*seconds, second][-_MAX_KEPT:]
            return json.dumps(seconds).encode(), seconds

        await self._take_over(store)
        self._shared[principal] = await update(store, TABLE, principal, count, ttl=WITHHELD_SECONDS)

    async def _take_over(self, store: Store) -> None:
        """Count what an earlier version has counted. Raises: StateError."""

        def changes(rows: Sequence[Any]) -> list[Put]:
            found: dict[str, list[int]] = {}
            for principal, second, amount in rows:
                found.setdefault(principal, []).extend([second] * int(amount))
            return [Put(TABLE, who, json.dumps(sorted(seconds)).encode(), ttl=WITHHELD_SECONDS)
                    for who, seconds in found.items()]  # fmt: skip

        if self._earlier is not None:
            await take_over(store, self._earlier, _EARLIER, changes, whose=TABLE)
            self._earlier = None
