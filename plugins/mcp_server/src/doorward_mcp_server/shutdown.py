"""The shutdown of the server: in both eras, every request that is under way gets an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as t
from mcp import MCPError
from mcp.shared.message import SessionMessage


class Shutdown:
    """A middleware of the SDK's server: it ends requests, and answers them with an error."""

    def __init__(self) -> None:
        self._under_way: set[anyio.CancelScope] = set()
        self._over = False
        self._calls = 0
        self._no_calls = anyio.Event()
        self._unsent: set[Any] | None = None

    def writes_to(self, stream: Any) -> Any:
        """The stream by which the SDK answers, watched: a call is under way until its answer has been written."""
        self._unsent = set()
        return _Watched(stream, self._sent)

    def _sent(self, request: Any) -> None:
        assert self._unsent is not None
        self._unsent.discard(request)
        self._look()

    def _look(self) -> None:
        if not self._calls and not self._unsent:
            self._no_calls.set()

    async def __call__(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if ctx.request_id is None:
            return await call_next(ctx)
        self._calls += (is_call := ctx.method == "tools/call")
        gets_answer = True
        try:
            return await self._called(ctx, call_next)
        except asyncio.CancelledError:
            gets_answer = False
            raise
        finally:
            if gets_answer and self._unsent is not None:
                self._unsent.add(ctx.request_id)
            self._calls -= is_call
            self._look()

    async def _called(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        if not self._over:
            with anyio.CancelScope() as scope:
                self._under_way.add(scope)
                try:
                    return await call_next(ctx)
                finally:
                    self._under_way.discard(scope)
        raise MCPError(
            t.CONNECTION_CLOSED, "The server is shutting down: what it was doing for this request has been ended."
        )

    async def answered(self, seconds: float) -> None:
        """Wait until no call of a tool is under way, but not for longer."""
        self._no_calls = anyio.Event()
        if self._calls or self._unsent:
            with anyio.move_on_after(seconds):
                await self._no_calls.wait()

    def end(self) -> None:
        """End the requests that are under way, and refuse those that come later."""
        self._over = True
        for scope in list(self._under_way):
            scope.cancel()


class _Watched:
    """A stream of messages to a client; `sent` gets the id of each request whose answer has been written."""

    def __init__(self, stream: Any, sent: Callable[[Any], None]) -> None:
        self._stream, self._told = stream, sent

    async def send(self, item: SessionMessage) -> None:
        try:
            await self._stream.send(item)
        finally:
            if isinstance(item.message, (t.JSONRPCResponse, t.JSONRPCError)):
                self._told(item.message.id)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Watched:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()
