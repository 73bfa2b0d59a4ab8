"""Steps of a worker in a thread of their own, and how often the event loop is woken for a call."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from doorward import Program
from doorward_sandbox_monty import MontyExecutor
from doorward_sandbox_monty.settings import MontySettings
from doorward_sandbox_monty.steps import Steps
from doorward_testing import Door

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_steps_are_taken_in_turn_in_one_thread() -> None:
    """Their results and errors come to whoever waits; questions are answered in the loop."""
    steps, threads = Steps(), set()
    here = threading.get_ident()

    def step(number: int) -> int:
        threads.add(threading.get_ident())
        assert steps.ask(threading.get_ident) == here
        return 1 // number

    taken = [steps.take(lambda number=number: step(number)) for number in (1, 0, 1)]
    assert await taken[2] == 1
    assert [str(each.exception() or each.result()) for each in taken] == [
        "1",
        "integer division or modulo by zero",
        "1",
    ]
    with pytest.raises(ZeroDivisionError):
        await steps.take(lambda: steps.ask(lambda: 1 // 0))
    assert len(threads) == 1
    assert here not in threads
    steps.stop()


async def test_a_step_that_nobody_waits_for() -> None:
    """Its result is dropped, and the next is taken."""
    steps = Steps()
    dropped = steps.take(lambda: time.sleep(0.01))
    dropped.cancel()
    assert await steps.take(lambda: 2) == 2
    steps.stop()


async def test_a_call_turns_the_loop_about_twice(host: Any) -> None:
    """Its question comes, and is answered; no task is made for it."""
    loop: Any = asyncio.get_running_loop()
    executor = MontyExecutor(host.context(MontySettings))
    program = Program("import calc\nfor n in range(200):\n    calc.add(n)", deadline=time.monotonic() + 60)
    sandbox = await executor.open(program)
    turns, tasks = 0, []
    run_once, create_task = loop._run_once, loop.create_task

    def counted() -> None:
        nonlocal turns
        turns += 1
        run_once()

    def made(*words: Any, **more: Any) -> Any:
        tasks.append(words)
        return create_task(*words, **more)

    loop._run_once, loop.create_task = counted, made
    try:
        ended = await sandbox.run(program, Door())
    finally:
        loop._run_once, loop.create_task = run_once, create_task
    assert ended.error is None
    assert turns < 200 * 2.5, turns
    assert len(tasks) < 20
    await sandbox.close()
    await executor.close()


async def test_what_is_asked_from_within_a_step_is_no_reading() -> None:
    """A program that prints a lot has read nothing by that; nor has one that asks for the time in between."""
    steps = Steps()
    await steps.take(lambda: [steps.ask(int) for _ in range(50)])
    assert steps.read < steps.worked
    await steps.take(lambda: (sum(range(300_000)), steps.again()))
    assert steps.read < steps.worked
    steps.stop()
