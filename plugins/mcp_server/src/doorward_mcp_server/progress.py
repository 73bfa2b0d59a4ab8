"""Progress of a tool, which a client is told if its request had a progress token."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio

HEARTBEAT_SECONDS = 5.0
"""Seconds without news after which a sign of life is sent: clients give up on silent servers."""


class Progress:
    """The progress of one call of a tool: what its run tells, plus one for each sign of life. So the number always
    increases, as the specification demands (2026-07-28, basic/utilities/progress)."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        self._beats = 0
        self._done = 0.0
        self._total: float | None = None
        self._told = -1.0
        self._news = False
        self._heard = False

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """See `doorward.Client.progress`."""
        self._done, self._total = done, total
        await self._tell(message)

    @contextlib.asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """A block during which the client is told of progress, and gets a sign of life every few seconds. A block that
        is over soon starts no task."""
        beating: list[asyncio.Task[None]] = []
        timer = asyncio.get_running_loop().call_later(
            HEARTBEAT_SECONDS, lambda: beating.append(asyncio.ensure_future(self._beat()))
        )
        self._heard = True
        try:
            yield
        finally:
            self._heard = False
            timer.cancel()
            for task in beating:
                task.cancel()

    async def _tell(self, message: str) -> None:
        told = self._beats + self._done
        if told <= self._told or not self._heard:
            return
        self._told, self._news = told, True
        total = None if self._total is None else self._beats + self._total
        # That a client is gone is noticed elsewhere.
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.ctx.session.report_progress(told, total, message or None)

    async def _beat(self) -> None:
        seconds = 0.0
        while True:
            seconds += HEARTBEAT_SECONDS
            if not self._news:
                self._beats += 1
                await self._tell(f"running for {seconds:g} s")
            self._news = False
            await asyncio.sleep(HEARTBEAT_SECONDS)
