"""What one call has opened over HTTP, so that it can be closed when the call is over: answered, failed or given up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import anyio
from httpx2 import SSEError

T = TypeVar("T")


class Over(SSEError):
    """The call that wanted an answer is over."""


class Exchange:
    """The request of one call, its answer, and the requests for the rest of that answer."""

    def __init__(self) -> None:
        self._over = False
        self._scope: anyio.CancelScope | None = None

    def end(self) -> None:
        """Stop whatever is under way; nothing begins any more."""
        self._over = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, step: Callable[[], Awaitable[T]]) -> T:
        """Do one thing for the call. Raises: Over, also in its middle."""
        if self._over:
            raise Over("its call is over")
        with anyio.CancelScope() as self._scope:
            try:
                return await step()
            finally:
                self._scope = None
        raise Over("its call is over")

    async def texts(self, texts: AsyncIterator[str]) -> AsyncIterator[str]:
        """A stream that ends with the call. Raises: Over."""
        while (text := await self.run(lambda: anext(texts, None))) is not None:
            yield text
