"""When a gateway is ready to answer."""

from __future__ import annotations

import asyncio

import pytest
from doorward.access.readiness import Readiness

pytestmark = pytest.mark.anyio


class Slow(asyncio.Event):
    """Each wait for it runs out of time; before that, so many servers are compiled, one in each."""

    def __init__(self, readiness: Readiness, servers: int) -> None:
        super().__init__()
        self.readiness, self.left, self.waits = readiness, servers, 0

    async def wait(self) -> bool:
        self.waits += 1
        if self.left:
            self.left -= 1
            self.readiness.progressed()
        raise TimeoutError


async def test_who_waits_for_servers_goes_on_while_there_is_progress() -> None:
    """However many there are, and no longer: one may never answer."""
    readiness = Readiness()
    readiness.compiled = slow = Slow(readiness, servers=800)
    await readiness.wait_compiled(10)
    assert (slow.left, slow.waits) == (0, 801)


async def test_nobody_waits_for_what_is_compiled() -> None:
    """Not even once."""
    readiness = Readiness()
    readiness.compiled = slow = Slow(readiness, servers=0)
    slow.set()
    await readiness.wait_compiled(10)
    assert slow.waits == 0
