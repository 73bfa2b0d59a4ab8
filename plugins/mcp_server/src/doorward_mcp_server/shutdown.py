"""The shutdown of the server: in both eras, every request that is under way gets an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as t
from mcp import MCPError


class Shutdown:
    """A middleware of the SDK's server: it ends requests, and answers them with an error."""

    def __init__(self) -> None:
        self._under_way: set[anyio.CancelScope] = set()
        self._over = False
        self._calls = 0
        self._no_calls = anyio.Event()

    async def __call__(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if ctx.request_id is None:
            return await call_next(ctx)
        if not self._over:
            with anyio.CancelScope() as scope:
                self._under_way.add(scope)
                self._calls += (is_call := ctx.method == "tools/call")
                try:
                    return await call_next(ctx)
                finally:
                    self._under_way.discard(scope)
                    self._calls -= is_call
                    if not self._calls:
                        self._no_calls.set()
        raise MCPError(
            t.CONNECTION_CLOSED, "The server is shutting down: what it was doing for this request has been ended."
        )

    async def answered(self, seconds: float) -> None:
        """Wait until no call of a tool is under way, but not for longer."""
        self._no_calls = anyio.Event()
        if self._calls:
            with anyio.move_on_after(seconds):
                await self._no_calls.wait()

    def end(self) -> None:
        """End the requests that are under way, and refuse those that come later."""
        self._over = True
        for scope in list(self._under_way):
            scope.cancel()
