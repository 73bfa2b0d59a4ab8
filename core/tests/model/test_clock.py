"""The clock of a run: its deadlines, and what it costs to have many."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import anyio
import pytest
from doorward.model.clock import Clock

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_block_ends_at_its_deadline_and_no_other() -> None:
    """The inner block of two ends first; the outer one goes on until its own deadline."""
    clock = Clock()
    with clock.until(clock.now() + 0.1) as outer:
        with clock.until(clock.now() + 0.01) as inner:
            await anyio.sleep(5)
        assert (inner.cancelled_caught, outer.cancelled_caught) == (True, False)
        await anyio.sleep(5)
    assert outer.cancelled_caught


async def test_a_deadline_that_is_over_ends_a_block_at_its_first_wait() -> None:
    """It raises nothing, and what stands after the block goes on."""
    clock = Clock()
    with clock.until(clock.now() - 1) as scope:
        await anyio.sleep(5)
    assert scope.cancelled_caught


async def test_no_deadline_comes_while_the_clock_stands_still() -> None:
    """Afterwards it comes as much later."""
    clock = Clock()
    with clock.until(clock.now() + 0.05) as scope:
        with clock.still(), clock.still():
            await anyio.sleep(0.1)
        assert not scope.cancel_called
        await anyio.sleep(5)
    assert scope.cancelled_caught
    assert clock.stood >= 0.1


async def test_calls_of_a_run_set_no_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One timer for the run serves all blocks within it that end no earlier, and none is left behind."""
    loop, timers = asyncio.get_running_loop(), list[Any]()
    call_at = loop.call_at
    monkeypatch.setattr(loop, "call_at", lambda *given, **named: timers.append(call_at(*given, **named)) or timers[-1])
    clock = Clock()
    deadline = clock.now() + 60
    with clock.until(deadline):
        for _ in range(100):
            with clock.until(deadline), clock.until(math.inf):
                pass
    assert len(timers) == 1
    assert timers[0].cancelled()
