"""Whether a gateway takes programs: its servers are compiled, and it has not been told to stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from doorward.model.errors import Busy


class Readiness:
    """What a gateway waits for at its start, and the runs that it waits for at its end."""

    def __init__(self) -> None:
        self.compiled = asyncio.Event()
        self._progress = 0
        self._stopping = False
        self._under_way = 0
        self._idle = asyncio.Event()

    @property
    def why_not(self) -> str:
        """Why no programs are taken; empty if they are."""
        if self._stopping:
            return "it is being stopped"
        return "" if self.compiled.is_set() else "its servers are being compiled"

    def progressed(self) -> None:
        """One more server is compiled, or has failed."""
        self._progress += 1

    async def wait_compiled(self, seconds: float) -> None:
        """Wait until the servers are compiled, but no longer than so many seconds in which none of them was done."""
        seen = -1
        while not self.compiled.is_set() and seen != self._progress:
            seen = self._progress
            await _within(seconds, self.compiled)

    def admit(self) -> None:
        """Raises: Busy if the gateway is being stopped."""
        if self._stopping:
            raise Busy(
                "this server is being stopped, and takes no more programs",
                hint="Nothing has run: try again in a moment, when it or another one serves again.",
            )

    def begun(self) -> None:
        """A run is under way."""
        self._under_way += 1

    def ended(self) -> None:
        """It is over, however it ended."""
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()

    async def drain(self, seconds: float) -> int:
        """Admit no run from now on, and wait until those under way have ended, but not for longer. Returns: how many
        are left. The caller ends them: whoever wants to suspend them does it between the two."""
        self._stopping = True
        self._idle.clear()
        if self._under_way:
            await _within(seconds, self._idle)
        return self._under_way


async def _within(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
