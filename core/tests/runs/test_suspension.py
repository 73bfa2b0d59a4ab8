"""How a run is suspended, apart from any sandbox."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import anyio
import pytest
from doorward.model.waits import Wait
from doorward.runs.suspension import Suspension

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_call_that_begins_while_the_sandbox_ends_does_not_go_out() -> None:
    """A sandbox takes a while to end. Nothing that a run calls by then is made: it is made when the run goes on."""

    class Keeper:
        why_not, expires = "", math.inf

        def suspend(self, waits: Sequence[Wait], parked: Collection[int]) -> None: ...

        def consume(self, id: str) -> bool:
            return True

    suspension, made = Suspension(Keeper()), []

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
