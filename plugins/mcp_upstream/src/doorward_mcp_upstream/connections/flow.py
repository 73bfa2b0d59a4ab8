"""How fast the streams of events of one server are read, so that no server takes the event loop from others."""

from __future__ import annotations

import asyncio
import time

from httpx2 import SSEError

PARTS_PER_SECOND = 1000
"""Parts of streams that are read a second: an event, 16 of its lines, a piece that came over the network, 64 KiB of
it."""
BURST_PARTS = 10_000
"""Parts that are read at once, where a server was quiet before."""
MAX_FLOOD_PARTS = 100_000
"""Parts of a server that has sent more than is read a second all the time; then the stream is ended."""
MAX_STREAM_PARTS = 1_000_000
"""Parts of the answer to one request."""
PARTS_PER_TURN = 50
"""Parts that are read before others have a turn of the event loop."""
_PART_BYTES, _PART_LINES = 2**16, 16


def piece(text: str) -> int:
    """The parts of what came over the network at once."""
    return 1 + len(text) // _PART_BYTES


def event(text: str) -> int:
    """The parts of an event."""
    return 1 + text.count("\n") // _PART_LINES


class Flow:
    """Counts what one server sends in all its streams of events."""

    def __init__(self) -> None:
        self._left, self._at = float(BURST_PARTS), time.monotonic()
        self._since_quiet = 0
        self._turn = 0

    async def read(self, parts: int) -> None:
        """Wait until these parts may be read. Raises: SSEError for a server that goes on and on."""
        now = time.monotonic()
        self._left += (now - self._at) * PARTS_PER_SECOND
        self._at = now
        if self._left >= BURST_PARTS:
            self._left, self._since_quiet = float(BURST_PARTS), 0
        self._left -= parts
        self._since_quiet += parts
        self._turn += parts
        if self._left < 0:
            if self._since_quiet > MAX_FLOOD_PARTS:
                raise SSEError(
                    f"it sent {MAX_FLOOD_PARTS:,} events, and more than {PARTS_PER_SECOND:,} a second all the time"
                )
            self._turn = 0
            await asyncio.sleep(-self._left / PARTS_PER_SECOND)
        elif self._turn >= PARTS_PER_TURN:
            self._turn = 0
            await asyncio.sleep(0)


class StreamFlow:
    """One stream of a server. Its first parts do not wait for other streams: most answers have no more."""

    _FREE_PARTS = 8

    def __init__(self, flow: Flow, most: int | None) -> None:
        self._flow, self._most, self._parts = flow, most, 0

    async def read(self, parts: int) -> None:
        """Wait until these parts may be read. Raises: SSEError for a stream, or a server, that goes on and on."""
        self._parts += parts
        if self._most is not None and self._parts > self._most:
            raise SSEError(f"it answered one request with more than {self._most:,} events")
        if self._parts > self._FREE_PARTS:
            await self._flow.read(parts)
