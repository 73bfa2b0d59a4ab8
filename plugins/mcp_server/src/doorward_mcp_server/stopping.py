"""What SIGINT and SIGTERM do to `serve`: it ends without an error, and SIGTERM lets what runs come to its end first."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any


class Stopping:
    """Serves until the transport ends or a signal comes. `drain` is awaited before a SIGTERM ends it; a second signal
    ends it at once."""

    def __init__(self) -> None:
        self.drain: Callable[[], Awaitable[object]] | None = None
        self._serving: asyncio.Future[None] | None = None
        self._draining: asyncio.Future[None] | None = None
        self._over = False

    async def serve(self, serving: Coroutine[Any, Any, None]) -> None:
        """Serve, and close everything at the end."""
        self._serving = asyncio.ensure_future(serving)
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._told, number)
        with suppress(asyncio.CancelledError):
            await self._serving
        if self._draining is not None:
            self._draining.cancel()

    def _told(self, number: int) -> None:
        if number == signal.SIGTERM and self.drain is not None and self._draining is None:
            self._draining = asyncio.ensure_future(self._drained(self.drain))
        else:
            self._end()

    async def _drained(self, drain: Callable[[], Awaitable[object]]) -> None:
        try:
            await drain()
        finally:
            self._end()

    def _end(self) -> None:
        """Cancel what serves, but only once: what follows must not interrupt the closing."""
        if not self._over and self._serving is not None:
            self._over = True
            self._serving.cancel()
