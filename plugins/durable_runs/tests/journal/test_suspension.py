"""How a run is suspended, apart from any sandbox."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Sequence

import anyio
import pytest
from doorward import Wait
from doorward_durable_runs.journal.suspension import StoredSuspension

pytestmark = pytest.mark.anyio


class Stored:
    """The journal of a run that can be suspended."""

    why_not, expires = "", math.inf

    async def suspend(self, waits: Sequence[Wait], parked: Collection[int]) -> None: ...

    def consume(self, id: str) -> bool:
        return True


@pytest.mark.slow
async def test_a_call_that_begins_while_the_sandbox_ends_does_not_go_out() -> None:
    """A sandbox takes a while to end. Nothing that a run calls by then is made: it is made when the run goes on."""

    suspension, made = StoredSuspension(Stored()), []

    async def call(name: str) -> None:
        with suspension:
            await suspension.turn()
            made.append(name)
            await suspension.wait(Wait("approval", name))

    async def sandbox() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call, "first")
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(0.2):
                    await call("too late")

    with anyio.fail_after(10), anyio.CancelScope() as scope, suspension.ends(scope):
        await sandbox()
    assert made == ["first"]
    assert suspension.waits == [Wait("approval", "first")]


async def test_what_came_while_the_process_stood_is_waited_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that had no processor for longer than calls are gathered finds what has come before it looks at the
    time."""
    suspension, loop, late = StoredSuspension(Stored()), asyncio.get_running_loop(), 0.0
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + late)

    async def call(name: str) -> None:
        with suspension:
            await suspension.turn()
            await suspension.wait(Wait("approval", name))

    with anyio.CancelScope() as scope, suspension.ends(scope):
        async with anyio.create_task_group() as group:
            group.start_soon(call, "first")
            await anyio.wait_all_tasks_blocked()
            late = 60.0
            loop.call_soon(loop.call_soon, lambda: group.start_soon(call, "second"))  # a frame is read, then heard
    assert scope.cancel_called
    assert [wait.what for wait in suspension.waits] == ["first", "second"]
