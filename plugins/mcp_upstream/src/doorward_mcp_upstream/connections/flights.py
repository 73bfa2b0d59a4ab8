"""Requests in flight to one server: how long they may take, and which client answers the server's questions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import anyio
from doorward import Call, Client, DoorwardError

from doorward_mcp_upstream.connections.troubles import Refusal, Trouble

MAX_QUESTIONS = 25
"""Questions of a server to the client within one call."""
_INVALID_REQUEST_CODE = -32600


@dataclass(eq=False, slots=True)
class Flight:
    """A request under way. `call` is `None` for requests of our own, which no program has made."""

    call: Call | None
    asked: int = 0

    @property
    def client(self) -> Client | None:
        return self.call.client if self.call else None

    @property
    def run(self) -> str:
        """The run whose client may be asked; empty if there is none. The calls of a run have different `Client`
        objects, which all stand for the same client."""
        return self.call.run if self.call and self.call.client else ""


class Flights:
    """All requests in flight.

    A server of an older protocol does not say to which call its question belongs. If all calls under way are of one
    run, the client of that run is asked. If not, the server gets an error; and from then on, calls of different runs to
    this server take turns, so that this cannot happen again.
    """

    def __init__(self) -> None:
        self._under_way: set[Flight] = set()
        self._waiting: dict[Flight, None] = {}
        self._changed = asyncio.Event()
        self._turns = False
        self.last = time.monotonic()

    def __bool__(self) -> bool:
        return bool(self._under_way or self._waiting)

    def under_way(self) -> set[Flight]:
        """The requests that programs wait for, at this moment."""
        return {flight for flight in self._under_way if flight.call}

    def one(self, call: Call | None, seconds: float) -> AbstractAsyncContextManager[Flight]:
        """A block for a request that may take this many seconds, and no longer than its run has left. The clock stands
        still while the client is asked.

        Raises: Trouble if it takes longer.
        """
        return _OneFlight(self, call, seconds)

    async def begin(self, flight: Flight) -> None:
        """Wait for the turn of a request, and count it among those under way."""
        await self._turn(flight)
        self._under_way.add(flight)

    def end(self, flight: Flight) -> None:
        self._under_way.discard(flight)
        self.last = time.monotonic()
        if self._waiting:
            self._changed.set()

    async def _turn(self, flight: Flight) -> None:
        if not self._turns or flight.call is None:
            return
        self._waiting[flight] = None
        try:
            while any(other.call and other.run != flight.run for other in (*self._under_way, *self._before(flight))):
                self._changed.clear()
                await self._changed.wait()
        finally:
            del self._waiting[flight]
            self._changed.set()

    def _before(self, flight: Flight) -> list[Flight]:
        waiting = [*self._waiting]
        return waiting[: waiting.index(flight)]

    async def ask(self, method: str, params: Mapping[str, Any], flight: Flight | None = None) -> Mapping[str, Any]:
        """Ask the client of a request what its server asks; without `flight`, the client of the calls under way.

        Raises: Refusal, to be sent to the server as the answer.
        """
        flights = [flight] if flight else [f for f in self._under_way if f.call]
        clients = {f.run: f.client for f in flights}
        if len(clients) > 1:
            self._turns = True
            raise Refusal(
                _INVALID_REQUEST_CODE,
                "Calls of several clients are under way, and this does not say whom to ask. Try again.",
            )
        client = next(iter(clients.values()), None)
        if client is None:
            return _nobody(method, "There is nobody to ask.")
        for each in flights:
            each.asked += 1
        if any(each.asked > MAX_QUESTIONS for each in flights):
            return _nobody(method, f"A call may ask {MAX_QUESTIONS} times.")
        try:
            return await client.ask(method, params)
        except DoorwardError as error:
            return _nobody(method, error.message)


class _OneFlight:
    """See `Flights.one`. A class, and no generator: one is around every call."""

    __slots__ = ("_flight", "_flights", "_left", "_scope", "_seconds")

    def __init__(self, flights: Flights, call: Call | None, seconds: float) -> None:
        self._flights = flights
        self._flight = Flight(call)
        self._seconds = seconds

    async def __aenter__(self) -> Flight:
        call = self._flight.call
        await self._flights.begin(self._flight)
        self._left = min(self._seconds, call.time_left) if call else self._seconds
        self._scope = call.clock.until(call.clock.now() + self._left) if call else anyio.move_on_after(self._left)
        self._scope.__enter__()
        return self._flight

    async def __aexit__(self, *raised: Any) -> bool | None:
        try:
            handled = self._scope.__exit__(*raised)
        finally:
            self._flights.end(self._flight)
        if handled:
            raise Trouble(f"it did not answer within {self._left:.3g} seconds", limit=self._left < self._seconds)
        return handled


def _nobody(method: str, why: str) -> Mapping[str, Any]:
    if method == "elicitation/create":
        return {"action": "decline"}
    raise Refusal(_INVALID_REQUEST_CODE, why)
