"""What a conformance class of executors does with one that is wrong."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from doorward_testing.program_runner import ProgramRunner

pytestmark = pytest.mark.anyio


class Hasty:
    """An executor whose programs end at once."""

    async def open(self, program: Any) -> Hasty:
        return self

    async def run(self, program: Any, door: Any) -> Any:
        return SimpleNamespace(error="it has no loops")

    async def close(self) -> None: ...


class Runner(ProgramRunner):
    def executor(self, host: Any) -> Any:
        return Hasty()


async def test_nothing_is_awaited_of_a_program_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test fails with what came of the program, and not after a minute."""
    slept, sleep = [], asyncio.sleep

    async def counted(seconds: float) -> None:
        slept.append(seconds)
        assert len(slept) < 10
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", counted)
    with pytest.raises(AssertionError, match=r"ended before it was cancelled: .*it has no loops"):
        await Runner().cancelled(None, "while True: pass")
