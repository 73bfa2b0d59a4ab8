"""How fast the answers and streams of one server are read, so that no server takes the event loop from others."""

from __future__ import annotations

from asyncio import sleep
from time import monotonic

from httpx2 import SSEError

PARTS_PER_SECOND = 1000
"""Parts of streams that are read a second. A part is a piece that came over the network, 64 KiB of it, a quarter of an
event, or 16 of its lines."""
BURST_PARTS = 20_000
"""Parts that are read at once, where a server was quiet before."""
MAX_FLOOD_PARTS = 100_000
"""Parts of a server that has sent more than is read a second all the time; then the stream is ended."""
MAX_EVENTS = 250_000
"""Events of the answer to one request."""
PARTS_PER_TURN = 50
"""Parts that are read before others have a turn of the event loop."""
_PARTS_PER_CALL = 16
"""Parts that a call allows in addition: most answers have no more."""
_PIECE_BYTES, _EVENT_PARTS, _EVENT_LINES = 2**16, 4, 16
_FLOOD = (
    f"it sent more than {PARTS_PER_SECOND // _EVENT_PARTS} events or {PARTS_PER_SECOND:,} pieces of "
    f"{_PIECE_BYTES // 2**10} KiB a second, without a pause"
)


class Flow:
    """Counts what one server sends in all its answers and streams of events."""

    def __init__(self) -> None:
        self._left, self._at = float(BURST_PARTS), monotonic()
        self._since_quiet = 0
        self._turn = 0

    def call(self) -> None:
        """Allow for the answer to one more call."""
        self._left = min(self._left + _PARTS_PER_CALL, float(BURST_PARTS))
        self._since_quiet = max(self._since_quiet - _PARTS_PER_CALL, 0)

    async def read(self, parts: int) -> None:
        """Wait until these parts may be read. Raises: SSEError for a server that goes on and on."""
        now = monotonic()
        self._left += (now - self._at) * PARTS_PER_SECOND
        self._at = now
        if self._left >= BURST_PARTS:
            self._left, self._since_quiet = float(BURST_PARTS), 0
        self._left -= parts
        self._since_quiet += parts
        self._turn += parts
        if self._left < 0:
            if self._since_quiet > MAX_FLOOD_PARTS:
                raise SSEError(_FLOOD)
            self._turn = 0
            await sleep(-self._left / PARTS_PER_SECOND)
        elif self._turn >= PARTS_PER_TURN:
            self._turn = 0
            await sleep(0)


class StreamFlow:
    """One answer or stream of a server, with `most` events if it is the answer to a request."""

    def __init__(self, flow: Flow, most: int | None) -> None:
        self._flow, self._most, self._events = flow, most, 0

    async def piece(self, text: str | bytes) -> None:
        """Wait until what came over the network at once may be read. Raises: SSEError, as `event` does."""
        await self._flow.read(1 + len(text) // _PIECE_BYTES)

    async def event(self, text: str) -> None:
        """Wait until an event may be read. Raises: SSEError for a stream, or a server, that goes on and on."""
        self._events += 1
        if self._most is not None and self._events > self._most:
            raise SSEError(f"it answered one request with more than {self._most:,} events")
        await self._flow.read(_EVENT_PARTS + text.count("\n") // _EVENT_LINES)
