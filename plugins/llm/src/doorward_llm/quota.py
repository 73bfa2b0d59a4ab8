"""How much a run may ask: rounds, tokens and money are reserved before a request and settled after it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import anyio
from doorward import ApiError, Call, CannotAsk, ConfigError, LimitExceeded, RateLimited, Refused, StateError, log

from doorward_llm.amounts import NOTHING, Amounts
from doorward_llm.daily import Daily
from doorward_llm.models import NotAnswered
from doorward_llm.settings import LLMSettings


class Reservation:
    """What a request in progress may take; `took` is set when that is known."""

    def __init__(self, most: Amounts) -> None:
        self.most = most
        self.took: Amounts | None = None


class Quota:
    """The quotas of the runs of one server, and those of their principals, where there are any."""

    def __init__(self, settings: LLMSettings, daily: Daily | None) -> None:
        self._settings = settings
        self._daily = daily
        self._flights: dict[str, list[anyio.Event]] = {}

    @contextlib.asynccontextmanager
    async def reserved(self, call: Call, most: Amounts) -> AsyncIterator[Reservation]:
        """A block in which a request is made that may take `most`. If it breaks off, and nobody can say what it took,
        all of that counts.

        Raises: LimitExceeded.
        """
        await self._admit(call, most)
        reservation = Reservation(most)
        over = anyio.Event()
        self._flights.setdefault(call.run, []).append(over)
        hour = 0
        try:
            hour = await self._daily.reserve(call.principal, most) if self._daily else 0
        except BaseException:
            reservation.took = NOTHING
            self._land(call, reservation, over)
            raise
        try:
            yield reservation
        except (CannotAsk, ConfigError, RateLimited, Refused):  # nobody was asked
            reservation.took = NOTHING
            raise
        except (ApiError, NotAnswered):
            reservation.took = Amounts(1, 0, 0.0)
            raise
        finally:
            self._land(call, reservation, over)
            if self._daily and reservation.took is not None:
                with anyio.CancelScope(shield=True):
                    try:
                        await self._daily.settle(call.principal, hour, reservation.took.less(most))
                    except StateError as error:  # all that was reserved counts, and the answer is there
                        log.warning("llm_quota_not_settled", why=error.message)

    async def _admit(self, call: Call, most: Amounts) -> None:
        """Add what a request may take to what the run has used. While other requests of the run are in progress, which
        may give something back, one that does not fit waits.

        Raises: LimitExceeded.
        """
        while True:
            refusal, may_fit_later = self._refusal(call, most)
            if refusal is None:
                break
            flights = self._flights.get(call.run)
            if not may_fit_later or not flights:
                raise refusal
            await flights[0].wait()
        _add(call, most)

    def _refusal(self, call: Call, most: Amounts) -> tuple[LimitExceeded | None, bool]:
        """Why a request may not be made now, and whether it may be made when others are over."""
        settings, usage = self._settings, call.usage
        if usage.of("rounds") + most.rounds > settings.rounds:
            hint = "Ask for more at once, or do the rest in another run."
            return LimitExceeded(f"a run may ask a model {settings.rounds} times, and this one has", hint=hint), False
        left = int(settings.tokens - usage.of("tokens"))
        if most.tokens > left:
            hint = "Make the prompt shorter or `max_tokens` smaller, or do the rest in another run."
            said = (
                f"this request may take {most.tokens} tokens; of the {settings.tokens} of a run {max(0, left)} are left"
            )
            return LimitExceeded(said, hint=hint), most.tokens <= settings.tokens
        if settings.cost is not None and usage.of("cost") + most.cost > settings.cost:
            said = f"this request may cost ${most.cost:.4g}, and a run no more than ${settings.cost:g}"
            hint = "Make the prompt shorter or `max_tokens` smaller, or do the rest in another run."
            return LimitExceeded(said, hint=hint), most.cost <= settings.cost
        return None, False

    def _land(self, call: Call, reservation: Reservation, over: anyio.Event) -> None:
        """Give back what a request did not take, and tell those that wait."""
        if reservation.took is not None:
            _add(call, reservation.took.less(reservation.most))
        flights = self._flights[call.run]
        flights.remove(over)
        if not flights:
            del self._flights[call.run]
        over.set()


def _add(call: Call, amounts: Amounts) -> None:
    for name, amount in amounts._asdict().items():
        call.usage.add(name, amount)
