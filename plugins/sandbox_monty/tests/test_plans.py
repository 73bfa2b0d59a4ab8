"""Plans in Monty: as far as a program uses no answer of a call that is withheld."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_sandbox_monty import MontyExecutor, MontySettings
from doorward_testing import ExecutorConformance


class Runner(ExecutorConformance):
    __test__ = False

    def executor(self, host: Any) -> MontyExecutor:
        return MontyExecutor(host.context(MontySettings))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_line_that_uses_an_answer_is_told(host: Any) -> None:
    """With what to do; nothing is called after it."""
    code = "import calc\ncalc.add(1, 2)\ncalc.withhold()\nif calc.withhold():\n    calc.add(3, 4)"
    ended, door = await Runner().run(host, code, plan=True)
    assert (ended.error.type, ended.error.line, door.made) == ("PlanStopped", 4, 3)
    assert "uses the answer of calc.withhold" in ended.error.message
    assert "nsjail" in ended.error.hint


@pytest.mark.slow
@pytest.mark.anyio
async def test_one_gathered_call_whose_answer_is_used_stops_all(host: Any) -> None:
    code = "import asyncio, calc\nasync def one():\n    return await calc.withhold()\nawait asyncio.gather(calc.withhold(), one())"
    ended, _ = await Runner().run(host, code, plan=True)
    assert (ended.error.type, ended.error.line) == ("PlanStopped", 3)
