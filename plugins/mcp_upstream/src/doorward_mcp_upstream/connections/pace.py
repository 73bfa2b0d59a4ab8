"""Keeps calls to the limits that a server tells in the headers of its HTTP answers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from doorward import Call
from doorward_http import UpstreamLimits


class Pace:
    """The turns of the calls of one server, for one credential. Which answer belongs to which call only the SDK knows:
    what any answer tells counts as told to the call that has waited longest."""

    def __init__(self, server: str, url: str | None) -> None:
        self._limits, self._url = UpstreamLimits(server), url
        self._turns: dict[Any, None] = {}

    @contextlib.asynccontextmanager
    async def turn(self, call: Call | None) -> AsyncIterator[None]:
        """A block in which a call is made. It begins when the server will have it. What no call makes has no turns.

        Raises: RateLimited, if the call has not that much time.
        """
        if self._url is None or call is None:
            yield
            return
        async with self._limits.turn("POST", self._url, call) as turn:
            self._turns[turn] = None
            try:
                yield
            finally:
                del self._turns[turn]

    def heard(self, status: int, headers: Mapping[str, str]) -> None:
        """An answer has come."""
        for turn in self._turns:
            turn.answered(status, headers)
            break
